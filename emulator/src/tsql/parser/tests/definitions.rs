//! Tables, procedures, schemas, databases, principals, permissions.

use super::{error_number, only};
use crate::tsql::ast::ddl::{
    AlterDatabaseAction, AlterTableAction, ColumnContent, ConstraintKind, CreateTable, DatabaseOption,
    DdlStatement, DropKind, ModuleAction, ReferentialAction, TableElement, Termination,
};
use crate::tsql::ast::security::{ExecuteAs, PermissionAction, PrincipalSource, SecurityStatement};
use crate::tsql::ast::{Expr, StatementKind};
use crate::tsql::parser::parse_parameter_declarations;

fn ddl(text: &str) -> DdlStatement {
    let StatementKind::Ddl(ddl) = only(text) else { panic!("{text}") };
    *ddl
}

fn security(text: &str) -> SecurityStatement {
    let StatementKind::Security(security) = only(text) else { panic!("{text}") };
    *security
}

fn table(text: &str) -> CreateTable {
    let DdlStatement::CreateTable(table) = ddl(text) else { panic!("{text}") };
    table
}

#[test]
fn columns_keep_their_properties() {
    let table = table(
        "CREATE TABLE dbo.t (id int IDENTITY(-1, 2) NOT NULL CONSTRAINT pk PRIMARY KEY CLUSTERED WITH (PAD_INDEX = OFF) \
         ON [PRIMARY], b nvarchar(max) COLLATE Latin1_General_BIN NULL DEFAULT N'x', c AS id + 1 PERSISTED, \
         d uniqueidentifier ROWGUIDCOL CONSTRAINT n NOT NULL REFERENCES u (x) ON DELETE CASCADE) ON [PRIMARY]",
    );
    let columns: Vec<_> = table
        .elements
        .iter()
        .map(|element| match element {
            TableElement::Column(column) => column,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        columns[0].identity.as_ref().map(|i| (i.seed.as_str(), i.increment.as_str())),
        Some(("-1", "2"))
    );
    assert_eq!(columns[0].nullable, Some(false));
    assert!(matches!(
        columns[0].constraints[0].kind,
        ConstraintKind::Key { primary: true, clustered: Some(true), .. }
    ));
    assert!(columns[1].collation.is_some() && columns[1].nullable == Some(true));
    assert!(matches!(columns[2].content, ColumnContent::Computed { persisted: true, .. }));
    assert!(columns[3].row_guid && columns[3].nullable == Some(false));
    assert!(matches!(
        columns[3].constraints[0].kind,
        ConstraintKind::ForeignKey { on_delete: ReferentialAction::Cascade, .. }
    ));
}

#[test]
fn table_constraints_name_their_columns() {
    let table = table("CREATE TABLE t (a int, b int, PRIMARY KEY (a, b DESC), CHECK (a > b), UNIQUE (b),)");
    let constraints = table.elements.iter().filter(|e| matches!(e, TableElement::Constraint(_))).count();
    assert_eq!((table.elements.len(), constraints), (5, 3));
    assert_eq!(error_number("CREATE TABLE t ()"), 102);
}

#[test]
fn alter_table_has_its_actions() {
    let action = |text| match ddl(text) {
        DdlStatement::AlterTable(alter) => alter.action,
        _ => panic!("{text}"),
    };
    assert!(
        matches!(action("ALTER TABLE t ADD a int, UNIQUE (a)"), AlterTableAction::Add { elements, .. } if elements.len() == 2)
    );
    assert!(
        matches!(action("ALTER TABLE t DROP COLUMN a, b"), AlterTableAction::Drop(list) if list[1].column)
    );
    assert!(matches!(action("ALTER TABLE t ALTER COLUMN a int NULL"), AlterTableAction::AlterColumn(_)));
    assert!(matches!(
        action("ALTER TABLE t NOCHECK CONSTRAINT ALL"),
        AlterTableAction::CheckConstraint { check: false, names } if names.is_empty()
    ));
}

#[test]
fn procedures_keep_parameters_options_and_text() {
    let text = "CREATE OR ALTER PROC dbo.p @a int, @b nvarchar(10) = N'x' OUTPUT, @c dbo.T READONLY, @d varchar(5) = abc \
                WITH EXECUTE AS OWNER, RECOMPILE AS SELECT 1 x: GOTO x";
    let DdlStatement::Procedure(procedure) = ddl(text) else { panic!() };
    assert_eq!(procedure.action, ModuleAction::CreateOrAlter);
    assert!(procedure.parameters[1].output && procedure.parameters[1].default.is_some());
    assert!(procedure.parameters[2].read_only);
    assert_eq!(procedure.parameters[3].default, Some(Expr::string("abc")));
    assert_eq!(procedure.options.execute_as, Some(ExecuteAs::Owner));
    assert_eq!((procedure.body.len(), procedure.labels.len()), (3, 1));
    assert_eq!(text[procedure.text.start..procedure.text.end], *text);
}

#[test]
fn modules_have_to_be_first() {
    assert_eq!(error_number("SELECT 1 CREATE PROC p AS SELECT 1"), 111);
    assert_eq!(error_number("SELECT 1; CREATE VIEW v AS SELECT 1 a"), 111);
    assert_eq!(error_number("IF 1 = 1 CREATE PROC p AS SELECT 1"), 156);
    assert!(matches!(ddl("-- x\n;CREATE PROC p AS RETURN"), DdlStatement::Procedure(_)));
}

#[test]
fn parameter_declarations_stand_alone() {
    let parameters =
        parse_parameter_declarations("@a int, @b nvarchar(max) OUTPUT, @c AS decimal(10, 2) = NULL").unwrap();
    assert_eq!(parameters.len(), 3);
    assert!(!parameters[0].output && parameters[1].output);
    assert_eq!(parse_parameter_declarations("  ").unwrap(), []);
    assert_eq!(parse_parameter_declarations("@a int @b int").unwrap_err().number, 102);
    assert_eq!(parse_parameter_declarations("a int").unwrap_err().number, 102);
}

#[test]
fn drop_takes_lists_and_if_exists() {
    let DdlStatement::Drop(drop) = ddl("DROP TABLE IF EXISTS a, dbo.b, #c") else { panic!() };
    assert_eq!((drop.kind, drop.if_exists, drop.names.len()), (DropKind::Table, true, 3));
    assert!(matches!(ddl("DROP DATABASE x"), DdlStatement::Drop(drop) if drop.kind == DropKind::Database));
}

#[test]
fn databases_keep_what_matters() {
    let DdlStatement::CreateDatabase(create) = ddl(
        "CREATE DATABASE x ON PRIMARY (NAME = a, FILENAME = 'b', SIZE = 5MB) LOG ON (NAME = c, FILENAME = 'd') \
         COLLATE Latin1_General_BIN WITH TRUSTWORTHY ON, ENABLE_BROKER",
    ) else {
        panic!()
    };
    assert!(create.collation.is_some());
    assert_eq!(create.options, ["TRUSTWORTHY ON", "ENABLE_BROKER"]);
}

#[test]
fn alter_database_takes_several_options_and_a_termination() {
    let action = |text| match ddl(text) {
        DdlStatement::AlterDatabase(alter) => (alter.name.is_some(), alter.action),
        _ => panic!("{text}"),
    };
    let (named, set) =
        action("ALTER DATABASE CURRENT SET NEW_BROKER, TRUSTWORTHY ON WITH ROLLBACK AFTER 5 SECONDS");
    let expected = AlterDatabaseAction::Set {
        options: vec![DatabaseOption::NewBroker, DatabaseOption::Trustworthy(true)],
        termination: Some(Termination::RollbackAfter(5)),
    };
    assert_eq!((named, set), (false, expected));
    let (_, set) = action("ALTER DATABASE x SET TARGET_RECOVERY_TIME = 60 SECONDS");
    let other = DatabaseOption::Other { name: "TARGET_RECOVERY_TIME".into(), value: "60 SECONDS".into() };
    assert_eq!(set, AlterDatabaseAction::Set { options: vec![other], termination: None });
    assert_eq!(error_number("ALTER DATABASE x SET BOGUS ON"), 102);
}

#[test]
fn permissions_keep_class_name_and_principals() {
    let SecurityStatement::Permission(grant) = security("GRANT SEND ON SERVICE::[//a/b] TO public, u") else {
        panic!()
    };
    let securable = grant.securable.unwrap();
    assert_eq!((grant.action, securable.class.as_deref()), (PermissionAction::Grant, Some("SERVICE")));
    assert_eq!((securable.name.name().as_str(), grant.principals.len()), ("//a/b", 2));
    let SecurityStatement::Permission(grant) = security("GRANT REFERENCES ON MESSAGE TYPE::[m] TO u") else {
        panic!()
    };
    assert_eq!(grant.securable.unwrap().class.as_deref(), Some("MESSAGE TYPE"));
    let SecurityStatement::Permission(revoke) =
        security("REVOKE GRANT OPTION FOR VIEW DEFINITION, SELECT ON t (a) FROM u CASCADE")
    else {
        panic!()
    };
    assert!(revoke.grant_option && revoke.cascade);
    assert_eq!(
        (revoke.permissions[0].name.as_str(), revoke.permissions[1].columns.len()),
        ("VIEW DEFINITION", 1)
    );
}

#[test]
fn principals_are_read() {
    let SecurityStatement::CreateLogin(login) =
        security("CREATE LOGIN l WITH PASSWORD = N'x' MUST_CHANGE, DEFAULT_DATABASE = d, CHECK_POLICY = OFF")
    else {
        panic!()
    };
    assert_eq!(login.password.as_deref(), Some("x"));
    let SecurityStatement::CreateUser(user) = security("CREATE USER u WITHOUT LOGIN WITH DEFAULT_SCHEMA = s")
    else {
        panic!()
    };
    assert_eq!(user.source, Some(PrincipalSource::WithoutLogin));
    assert!(
        matches!(security("EXECUTE AS USER = @u WITH NO REVERT"), SecurityStatement::ExecuteAs(e) if e.no_revert)
    );
}
