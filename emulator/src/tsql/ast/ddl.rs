//! Definition of tables, procedures, schemas and databases.
//!
//! Must not know the catalog.

use super::expr::{Condition, Expr};
use super::name::{DataTypeName, Ident, ObjectName, Span, VariableName};
use super::security::ExecuteAs;
use super::statement::Statement;

/// A definition statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DdlStatement {
    /// `CREATE TABLE`
    CreateTable(CreateTable),
    /// `ALTER TABLE`
    AlterTable(AlterTable),
    /// `CREATE INDEX`
    CreateIndex(Box<CreateIndex>),
    /// `DROP INDEX [IF EXISTS] name ON table`, one entry per index
    DropIndex {
        /// IF EXISTS.
        if_exists: bool,
        /// Index and table.
        indexes: Vec<(Ident, ObjectName)>,
    },
    /// `TRUNCATE TABLE`
    TruncateTable(ObjectName),
    /// `CREATE | ALTER | CREATE OR ALTER PROCEDURE`
    Procedure(Box<ProcedureDefinition>),
    /// `CREATE SCHEMA`
    CreateSchema(CreateSchema),
    /// `CREATE DATABASE`
    CreateDatabase(CreateDatabase),
    /// `ALTER DATABASE`
    AlterDatabase(AlterDatabase),
    /// `DROP kind [IF EXISTS] a, b`
    Drop(Drop),
}

/// DROP of everything that is no broker object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Drop {
    /// Which family.
    pub(crate) kind: DropKind,
    /// IF EXISTS.
    pub(crate) if_exists: bool,
    /// The objects; one or more.
    pub(crate) names: Vec<ObjectName>,
}

/// A family of objects that DROP knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DropKind {
    /// `TABLE`
    Table,
    /// `VIEW`
    View,
    /// `PROCEDURE`
    Procedure,
    /// `FUNCTION`
    Function,
    /// `TRIGGER`
    Trigger,
    /// `SCHEMA`
    Schema,
    /// `TYPE`
    Type,
    /// `SYNONYM`
    Synonym,
    /// `SEQUENCE`
    Sequence,
    /// `DATABASE`
    Database,
    /// `LOGIN`
    Login,
    /// `USER`
    User,
    /// `ROLE`
    Role,
}

/// CREATE TABLE.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CreateTable {
    /// The table; `#name` for a temporary one.
    pub(crate) name: ObjectName,
    /// Columns and constraints in the order written.
    pub(crate) elements: Vec<TableElement>,
}

/// One entry of a table definition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TableElement {
    /// A column.
    Column(Box<ColumnDefinition>),
    /// A table constraint.
    Constraint(Box<TableConstraint>),
    /// `INDEX name ..` within the table.
    Index(Box<IndexDefinition>),
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnDefinition {
    /// Its name.
    pub(crate) name: Ident,
    /// A type, or an expression for a computed column.
    pub(crate) content: ColumnContent,
    /// COLLATE.
    pub(crate) collation: Option<Ident>,
    /// `NULL` or `NOT NULL`, when written.
    pub(crate) nullable: Option<bool>,
    /// IDENTITY.
    pub(crate) identity: Option<Identity>,
    /// ROWGUIDCOL.
    pub(crate) row_guid: bool,
    /// Constraints written at the column; their column lists are empty and mean this column.
    pub(crate) constraints: Vec<TableConstraint>,
}

/// What a column holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ColumnContent {
    /// Values of a type.
    Type(DataTypeName),
    /// `AS expression [PERSISTED]`
    Computed {
        /// The expression.
        value: Expr,
        /// PERSISTED.
        persisted: bool,
    },
}

/// `IDENTITY [(seed, increment)]`, numbers as written with their sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// First value.
    pub(crate) seed: String,
    /// Step.
    pub(crate) increment: String,
}

/// A constraint of a table or column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TableConstraint {
    /// Its name.
    pub(crate) name: Option<Ident>,
    /// What it demands.
    pub(crate) kind: ConstraintKind,
}

/// What a constraint demands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ConstraintKind {
    /// `PRIMARY KEY` or `UNIQUE`
    Key {
        /// PRIMARY KEY; UNIQUE otherwise.
        primary: bool,
        /// CLUSTERED or NONCLUSTERED, when written.
        clustered: Option<bool>,
        /// The columns; empty at a column.
        columns: Vec<IndexColumn>,
    },
    /// `CHECK (condition)`
    Check {
        /// The condition.
        condition: Condition,
        /// Its text, which the table keeps.
        text: String,
    },
    /// `[FOREIGN KEY (columns)] REFERENCES table [(columns)]`
    ForeignKey {
        /// The referring columns; empty at a column.
        columns: Vec<Ident>,
        /// The table referred to.
        table: ObjectName,
        /// Its columns; empty means its primary key.
        referenced: Vec<Ident>,
        /// ON DELETE.
        on_delete: ReferentialAction,
        /// ON UPDATE.
        on_update: ReferentialAction,
    },
    /// `DEFAULT value [FOR column]`
    Default {
        /// The value.
        value: Expr,
        /// The column, in ALTER TABLE ADD.
        column: Option<Ident>,
        /// WITH VALUES, in ALTER TABLE ADD: rows that exist get the default although the column may be NULL.
        with_values: bool,
    },
}

/// A column of a key or index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexColumn {
    /// The column.
    pub(crate) name: Ident,
    /// DESC.
    pub(crate) descending: bool,
}

/// What a foreign key does when the referenced row changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReferentialAction {
    /// `NO ACTION`, the default.
    NoAction,
    /// `CASCADE`
    Cascade,
    /// `SET NULL`
    SetNull,
    /// `SET DEFAULT`
    SetDefault,
}

/// An index within a table definition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IndexDefinition {
    /// Its name.
    pub(crate) name: Ident,
    /// UNIQUE.
    pub(crate) unique: bool,
    /// The columns; empty at a column.
    pub(crate) columns: Vec<IndexColumn>,
    /// The filter of a filtered index.
    pub(crate) filter: Option<Condition>,
}

/// CREATE INDEX.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CreateIndex {
    /// The table.
    pub(crate) table: ObjectName,
    /// The index.
    pub(crate) index: IndexDefinition,
    /// WITH (IGNORE_DUP_KEY = ON).
    pub(crate) ignore_duplicates: bool,
    /// WITH (DROP_EXISTING = ON).
    pub(crate) drop_existing: bool,
}

/// ALTER TABLE.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AlterTable {
    /// The table.
    pub(crate) name: ObjectName,
    /// What to do to it.
    pub(crate) action: AlterTableAction,
}

/// What ALTER TABLE does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AlterTableAction {
    /// `[WITH CHECK | NOCHECK] ADD ..`
    Add {
        /// Columns and constraints.
        elements: Vec<TableElement>,
        /// NOCHECK: rows that exist need not satisfy the constraints.
        no_check: bool,
    },
    /// `DROP COLUMN ..` and `DROP CONSTRAINT ..`, which may be mixed
    Drop(Vec<AlterTableDrop>),
    /// `ALTER COLUMN name type ..`
    AlterColumn(Box<ColumnDefinition>),
    /// `[WITH CHECK | NOCHECK] {CHECK | NOCHECK} CONSTRAINT {ALL | names}`; no names means ALL
    CheckConstraint {
        /// CHECK; NOCHECK otherwise.
        check: bool,
        /// The constraints.
        names: Vec<Ident>,
    },
    /// `{ENABLE | DISABLE} TRIGGER {ALL | names}`; no names means ALL
    EnableTrigger {
        /// ENABLE; DISABLE otherwise.
        enable: bool,
        /// The triggers.
        names: Vec<Ident>,
    },
}

/// One entry of ALTER TABLE DROP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AlterTableDrop {
    /// A column; a constraint otherwise.
    pub(crate) column: bool,
    /// IF EXISTS.
    pub(crate) if_exists: bool,
    /// Its name.
    pub(crate) name: Ident,
}

/// How a module statement treats an existing module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModuleAction {
    /// `CREATE`
    Create,
    /// `ALTER`
    Alter,
    /// `CREATE OR ALTER`
    CreateOrAlter,
}

/// A stored procedure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProcedureDefinition {
    /// Create, alter or either.
    pub(crate) action: ModuleAction,
    /// Its name.
    pub(crate) name: ObjectName,
    /// Its parameters.
    pub(crate) parameters: Vec<Parameter>,
    /// WITH.
    pub(crate) options: ModuleOptions,
    /// Its body, up to the end of the batch. Lines are those of the batch, as ERROR_LINE() counts them.
    pub(crate) body: Vec<Statement>,
    /// Every label of the body.
    pub(crate) labels: Vec<Ident>,
    /// The whole definition: the module's text runs from the first byte of the batch to here.
    pub(crate) text: Span,
}

/// A parameter of a procedure or of sp_executesql.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parameter {
    /// Its name.
    pub(crate) name: VariableName,
    /// Its type; for a cursor parameter the type name is `cursor`.
    pub(crate) data_type: DataTypeName,
    /// Its default: a constant, NULL, or a bare word as a string.
    pub(crate) default: Option<Expr>,
    /// OUTPUT.
    pub(crate) output: bool,
    /// READONLY, for table types.
    pub(crate) read_only: bool,
}

/// WITH of a module.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ModuleOptions {
    /// EXECUTE AS.
    pub(crate) execute_as: Option<ExecuteAs>,
    /// ENCRYPTION.
    pub(crate) encryption: bool,
    /// RECOMPILE.
    pub(crate) recompile: bool,
    /// SCHEMABINDING.
    pub(crate) schema_binding: bool,
}

/// CREATE SCHEMA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CreateSchema {
    /// The schema; absent when only AUTHORIZATION was written, and the schema is named after the owner.
    pub(crate) name: Option<Ident>,
    /// AUTHORIZATION.
    pub(crate) owner: Option<Ident>,
}

/// CREATE DATABASE; files and sizes are parsed and not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CreateDatabase {
    /// The database.
    pub(crate) name: Ident,
    /// COLLATE.
    pub(crate) collation: Option<Ident>,
    /// WITH or FOR ATTACH: options by their words in upper case, e.g. `TRUSTWORTHY ON`, `ENABLE_BROKER`.
    pub(crate) options: Vec<String>,
}

/// ALTER DATABASE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AlterDatabase {
    /// The database; absent for `CURRENT`.
    pub(crate) name: Option<Ident>,
    /// What to do to it.
    pub(crate) action: AlterDatabaseAction,
}

/// What ALTER DATABASE does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AlterDatabaseAction {
    /// `SET options [WITH termination]`
    Set {
        /// One or more options.
        options: Vec<DatabaseOption>,
        /// What becomes of sessions in the way.
        termination: Option<Termination>,
    },
    /// `MODIFY NAME = name`
    Rename(Ident),
    /// `COLLATE name`
    Collate(Ident),
}

/// An option of ALTER DATABASE SET.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DatabaseOption {
    /// `ENABLE_BROKER`
    EnableBroker,
    /// `DISABLE_BROKER`
    DisableBroker,
    /// `NEW_BROKER`
    NewBroker,
    /// `ERROR_BROKER_CONVERSATIONS`
    ErrorBrokerConversations,
    /// `HONOR_BROKER_PRIORITY {ON | OFF}`
    HonorBrokerPriority(bool),
    /// `TRUSTWORTHY {ON | OFF}`
    Trustworthy(bool),
    /// `SINGLE_USER`
    SingleUser,
    /// `RESTRICTED_USER`
    RestrictedUser,
    /// `MULTI_USER`
    MultiUser,
    /// Any other option: its name in upper case and the words of its value in upper case, possibly empty.
    Other {
        /// The option.
        name: String,
        /// Its value.
        value: String,
    },
}

/// The termination clause of ALTER DATABASE SET.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Termination {
    /// `WITH ROLLBACK IMMEDIATE`
    RollbackImmediate,
    /// `WITH ROLLBACK AFTER n [SECONDS]`
    RollbackAfter(u32),
    /// `WITH NO_WAIT`
    NoWait,
}
