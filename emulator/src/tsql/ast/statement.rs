//! Batches and the statements around data: control flow, variables, session settings, EXECUTE,
//! transactions.
//!
//! Must not know what any statement does.

use super::broker::{BrokerDdl, BrokerStatement, GetConversationGroup, Receive};
use super::cursor::{CursorDefinition, CursorStatement};
use super::ddl::{DdlStatement, TableElement};
use super::dml::{Delete, Insert, Merge, Update};
use super::expr::{AssignOp, Condition, Expr};
use super::name::{DataTypeName, Ident, ObjectName, Span, VariableName};
use super::query::SelectStatement;
use super::security::SecurityStatement;

/// One batch, parsed as a whole.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Batch {
    /// The statements in order.
    pub(crate) statements: Vec<Statement>,
    /// Every label of the batch, those in blocks included; each GOTO names one of them.
    pub(crate) labels: Vec<Ident>,
    /// Variables used where no declaration of the text stands before, in the order of their use. Parameters that a
    /// caller declares are among them.
    pub(crate) undeclared: Vec<UndeclaredVariable>,
}

/// A variable that is used without a declaration before it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UndeclaredVariable {
    /// Its name.
    pub(crate) name: VariableName,
    /// Line of the use.
    pub(crate) line: u32,
    /// Whether a table is asked of it.
    pub(crate) is_table: bool,
}

/// One statement and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statement {
    /// Line of its first word, 1-based within the batch.
    pub(crate) line: u32,
    /// Its text, without a terminating semicolon.
    pub(crate) span: Span,
    /// What it says.
    pub(crate) kind: StatementKind,
}

/// What a statement says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StatementKind {
    /// `BEGIN .. END`
    Block(Vec<Statement>),
    /// `IF condition then [ELSE otherwise]`
    If(Box<If>),
    /// `WHILE condition body`
    While(Box<While>),
    /// `BREAK`
    Break,
    /// `CONTINUE`
    Continue,
    /// `BEGIN TRY .. END TRY BEGIN CATCH .. END CATCH`
    TryCatch(Box<TryCatch>),
    /// `RETURN [value]`
    Return(Option<Expr>),
    /// `GOTO label`
    Goto(Ident),
    /// `label:`
    Label(Ident),
    /// `PRINT value`
    Print(Expr),
    /// `RAISERROR (..) [WITH ..]`
    RaiseError(Box<RaiseError>),
    /// `THROW [number, message, state]`
    Throw(Option<Box<Throw>>),
    /// `WAITFOR ..`
    WaitFor(Box<WaitFor>),
    /// `DECLARE ..` of variables
    Declare(Vec<Declaration>),
    /// `SET @v = ..`
    SetVariable(Box<SetVariable>),
    /// `SET option ..`, one entry per option named
    SetOptions(Vec<SetOption>),
    /// `USE database`
    Use(Ident),
    /// `EXEC ..`, also a procedure's name alone at the start of a batch
    Execute(Box<Execute>),
    /// `KILL n`
    Kill(Kill),
    /// Transactions.
    Transaction(TransactionStatement),
    /// Cursors.
    Cursor(Box<CursorStatement>),
    /// `SELECT ..`
    Select(Box<SelectStatement>),
    /// `INSERT ..`
    Insert(Box<Insert>),
    /// `UPDATE ..`
    Update(Box<Update>),
    /// `DELETE ..`
    Delete(Box<Delete>),
    /// `MERGE ..`
    Merge(Box<Merge>),
    /// Conversations: BEGIN DIALOG, SEND, RECEIVE and the like.
    Broker(Box<BrokerStatement>),
    /// Definition of broker objects.
    BrokerDdl(Box<BrokerDdl>),
    /// Definition of tables, procedures, schemas, databases.
    Ddl(Box<DdlStatement>),
    /// Logins, users, permissions, EXECUTE AS.
    Security(Box<SecurityStatement>),
    /// T-SQL that the parser recognises and the emulator does not offer; an error when it runs.
    Unsupported {
        /// What to name in the error, e.g. `CREATE CERTIFICATE`.
        construct: String,
    },
}

/// IF.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct If {
    /// What decides.
    pub(crate) condition: Condition,
    /// When true.
    pub(crate) then: Statement,
    /// When false or unknown.
    pub(crate) otherwise: Option<Statement>,
}

/// WHILE.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct While {
    /// Repeated while true.
    pub(crate) condition: Condition,
    /// What is repeated.
    pub(crate) body: Statement,
}

/// TRY and CATCH.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TryCatch {
    /// The TRY block.
    pub(crate) try_block: Vec<Statement>,
    /// The CATCH block.
    pub(crate) catch_block: Vec<Statement>,
}

/// RAISERROR.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RaiseError {
    /// A message text, a message number or a variable.
    pub(crate) message: Expr,
    /// Severity.
    pub(crate) severity: Expr,
    /// State.
    pub(crate) state: Expr,
    /// Arguments of the text.
    pub(crate) arguments: Vec<Expr>,
    /// WITH LOG.
    pub(crate) log: bool,
    /// WITH NOWAIT.
    pub(crate) no_wait: bool,
    /// WITH SETERROR.
    pub(crate) set_error: bool,
}

/// THROW with arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Throw {
    /// Error number.
    pub(crate) number: Expr,
    /// Message text.
    pub(crate) message: Expr,
    /// State.
    pub(crate) state: Expr,
}

/// WAITFOR.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WaitFor {
    /// `DELAY 'hh:mm:ss'`
    Delay(Expr),
    /// `TIME 'hh:mm:ss'`
    Time(Expr),
    /// `(RECEIVE ..) [, TIMEOUT n]`
    Receive {
        /// The statement waited for.
        receive: Receive,
        /// Milliseconds.
        timeout: Option<Expr>,
    },
    /// `(GET CONVERSATION GROUP ..) [, TIMEOUT n]`
    GetConversationGroup {
        /// The statement waited for.
        get: GetConversationGroup,
        /// Milliseconds.
        timeout: Option<Expr>,
    },
}

/// One variable of a DECLARE.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Declaration {
    /// `@v type [= value]`
    Scalar {
        /// The variable.
        name: VariableName,
        /// Its type.
        data_type: DataTypeName,
        /// What it is set to each time the statement runs.
        value: Option<Expr>,
    },
    /// `@t TABLE (..)`
    Table {
        /// The variable.
        name: VariableName,
        /// Columns and constraints.
        elements: Vec<TableElement>,
    },
    /// `@c CURSOR`
    Cursor(VariableName),
}

/// `SET @v ..`
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SetVariable {
    /// The variable.
    pub(crate) variable: VariableName,
    /// What is done to it.
    pub(crate) change: VariableChange,
}

/// What SET does to a variable.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum VariableChange {
    /// `= value`, `+= value`
    Assign {
        /// How.
        op: AssignOp,
        /// The value.
        value: Expr,
    },
    /// `= CURSOR .. FOR ..`
    Cursor(CursorDefinition),
    /// `.modify('..')`
    Method {
        /// The method.
        method: Ident,
        /// Its arguments.
        arguments: Vec<Expr>,
    },
}

/// One session setting.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SetOption {
    /// An option that is ON or OFF, by its name in upper case: `NOCOUNT`, `ANSI_NULLS`, `XACT_ABORT`,
    /// `STATISTICS IO`, ..
    Switch {
        /// The option.
        name: String,
        /// ON.
        on: bool,
    },
    /// An option with a value, by its name in upper case: `LOCK_TIMEOUT`, `TEXTSIZE`, `DATEFORMAT`,
    /// `DATEFIRST`, `LANGUAGE`, `ROWCOUNT`, `DEADLOCK_PRIORITY`, `CONTEXT_INFO`, .. A bare word such as
    /// `mdy` or `LOW` is a string.
    Value {
        /// The option.
        name: String,
        /// Its value.
        value: Expr,
    },
    /// `TRANSACTION ISOLATION LEVEL ..`
    IsolationLevel(IsolationLevel),
    /// `IDENTITY_INSERT table {ON | OFF}`
    IdentityInsert {
        /// The table.
        table: ObjectName,
        /// ON.
        on: bool,
    },
}

/// A transaction isolation level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IsolationLevel {
    /// `READ UNCOMMITTED`
    ReadUncommitted,
    /// `READ COMMITTED`
    ReadCommitted,
    /// `REPEATABLE READ`
    RepeatableRead,
    /// `SERIALIZABLE`
    Serializable,
    /// `SNAPSHOT`
    Snapshot,
}

/// EXECUTE of a procedure or of text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Execute {
    /// `@rc = ..`
    pub(crate) return_variable: Option<VariableName>,
    /// What is run.
    pub(crate) target: ExecuteTarget,
    /// The arguments of a procedure; of text with AT, its parameters.
    pub(crate) arguments: Vec<ExecuteArgument>,
}

/// What EXECUTE runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ExecuteTarget {
    /// A procedure.
    Procedure(ObjectName),
    /// A procedure whose name is in a variable.
    ProcedureVariable(VariableName),
    /// `('text' + @more) [AS {LOGIN | USER} = 'name']`
    Text {
        /// The batch text.
        text: Expr,
        /// Whom to run it as.
        principal: Option<ExecutePrincipal>,
    },
}

/// `AS LOGIN = '..'` or `AS USER = '..'`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExecutePrincipal {
    /// LOGIN; USER otherwise.
    pub(crate) login: bool,
    /// The name.
    pub(crate) name: String,
}

/// One argument of EXECUTE.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExecuteArgument {
    /// `@parameter =`
    pub(crate) name: Option<VariableName>,
    /// The value; `None` is DEFAULT. A bare word is a string.
    pub(crate) value: Option<Expr>,
    /// OUTPUT; the value is a variable then.
    pub(crate) output: bool,
}

/// KILL.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Kill {
    /// The session id.
    pub(crate) session: Expr,
    /// WITH STATUSONLY.
    pub(crate) status_only: bool,
}

/// A transaction statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TransactionStatement {
    /// `BEGIN [DISTRIBUTED] TRAN [name] [WITH MARK ..]`
    Begin {
        /// DISTRIBUTED.
        distributed: bool,
        /// The name.
        name: Option<TransactionName>,
    },
    /// `COMMIT [TRAN | WORK] [name]`; the name is ignored by the server
    Commit {
        /// The name.
        name: Option<TransactionName>,
    },
    /// `ROLLBACK [TRAN | WORK] [name]`
    Rollback {
        /// A transaction's or a savepoint's name.
        name: Option<TransactionName>,
    },
    /// `SAVE TRAN name`
    Save(TransactionName),
}

/// The name of a transaction or savepoint.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TransactionName {
    /// Written out.
    Name(Ident),
    /// In a variable.
    Variable(VariableName),
}
