//! Statements run end to end against an engine in memory, without sessions or a wire: a script goes in, its rows come
//! out as text.

mod changes;
mod expressions;
mod queries;

use uuid::Uuid;

use crate::engine::{Call, Core, CoreOptions, IdSource, Login, LoginInfo, Op, SessionId, Step, Tx};
use crate::error::SqlError;
use crate::relational::convert::display;
use crate::relational::names::engine_name;
use crate::relational::{
    DmlOutcome, Environment, QueryOutcome, SessionFacts, TableVariable, convert, delete, evaluate, insert,
    query, resolve_type, table_definition, update,
};
use crate::tsql::ast::ddl::DdlStatement;
use crate::tsql::ast::name::eq_ignore_case;
use crate::tsql::ast::statement::{Declaration, VariableChange};
use crate::tsql::ast::{Statement, StatementKind};
use crate::tsql::{ParseOptions, parse_batch};
use crate::value::{SqlType, Timestamp, Value};

/// 2026-11-29 12:34:56.789 UTC, a Sunday.
const NOW: Timestamp = Timestamp::from_unix_ticks(17_959_556_967_890_000);

/// Uuids 1, 2, 3, ...
#[derive(Default)]
struct CountingIds(u128);

impl IdSource for CountingIds {
    fn uuid(&mut self) -> Uuid {
        self.0 += 1;
        Uuid::from_u128(self.0)
    }
}

/// An engine with one session and its variables.
struct Bench {
    core: Core,
    session: SessionId,
    variables: Variables,
}

struct Variables {
    scalars: Vec<(String, SqlType, Value)>,
    tables: Vec<(String, TableVariable)>,
    facts: SessionFacts,
    row_count: i32,
}

impl Environment for Variables {
    fn variable(&self, name: &str) -> Option<(&SqlType, &Value)> {
        let found = self.scalars.iter().find(|(known, ..)| eq_ignore_case(known, name));
        found.map(|(_, ty, value)| (ty, value))
    }

    fn set_variable(&mut self, name: &str, new: Value) {
        if let Some((.., value)) = self.scalars.iter_mut().find(|(known, ..)| eq_ignore_case(known, name)) {
            *value = new;
        }
    }

    fn table_variable(&self, name: &str) -> Option<&TableVariable> {
        self.tables.iter().find(|(known, _)| eq_ignore_case(known, name)).map(|(_, table)| table)
    }

    fn table_variable_mut(&mut self, name: &str) -> Option<&mut TableVariable> {
        self.tables.iter_mut().find(|(known, _)| eq_ignore_case(known, name)).map(|(_, table)| table)
    }

    fn global(&self, name: &str) -> Option<(SqlType, Value)> {
        name.eq_ignore_ascii_case("@@ROWCOUNT").then_some((SqlType::Int, Value::Int(self.row_count)))
    }

    fn session(&self) -> &SessionFacts {
        &self.facts
    }

    fn identity_inserted(&mut self, value: i64) {
        self.facts.scope_identity = Some(value);
    }
}

impl Bench {
    fn new() -> Bench {
        let mut core = Core::new(CoreOptions::default(), Box::new(CountingIds::default()), NOW);
        let info = LoginInfo {
            login: Login::SA,
            database: Some("tempdb".to_owned()),
            host: "host".to_owned(),
            application: "test".to_owned(),
        };
        let session = core.open_session(&info, NOW).unwrap();
        let database = core.session(session).database;
        let facts = SessionFacts {
            login: "sa".to_owned(),
            original_login: "sa".to_owned(),
            user: "dbo".to_owned(),
            database,
            database_name: "tempdb".to_owned(),
            spid: 51,
            host: "host".to_owned(),
            application: "test".to_owned(),
            server_name: "SERVER\\BROKER".to_owned(),
            now: NOW,
            error: None,
            xact_state: 0,
            scope_identity: None,
            identity_insert: None,
            date_first: 7,
        };
        let variables = Variables { scalars: Vec::new(), tables: Vec::new(), facts, row_count: 0 };
        Bench { core, session, variables }
    }

    /// Runs a batch; every row is a line, its values parted by `|`.
    fn run(&mut self, text: &str) -> Result<String, SqlError> {
        let batch = parse_batch(text, ParseOptions::default())
            .unwrap_or_else(|error| panic!("{text}: {}", error.message));
        let mut lines = Vec::new();
        for statement in &batch.statements {
            lines.extend(self.statement(statement)?.iter().map(|row| shown(row)));
        }
        Ok(lines.join("\n"))
    }

    fn statement(&mut self, statement: &Statement) -> Result<Vec<Vec<Value>>, SqlError> {
        match &statement.kind {
            StatementKind::Declare(declarations) => {
                for declaration in declarations {
                    self.declare(declaration)?;
                }
                Ok(Vec::new())
            }
            StatementKind::SetVariable(set) => {
                let VariableChange::Assign { value, .. } = &set.change else { panic!("not an assignment") };
                let (_, value) = self.operate(|env, tx| evaluate(value, env, tx))?;
                self.assign(set.variable.as_str(), value)?;
                Ok(Vec::new())
            }
            StatementKind::Select(select) => match self.operate(|env, tx| query(select, env, tx))? {
                QueryOutcome::Rows { rows, .. } => self.counted(rows.len(), rows),
                QueryOutcome::Assigned { count } | QueryOutcome::Into { count } => {
                    self.counted(count, Vec::new())
                }
            },
            StatementKind::Insert(statement) => {
                let outcome = self.operate(|env, tx| insert(statement, env, tx))?;
                self.changed(outcome)
            }
            StatementKind::Update(statement) => {
                let outcome = self.operate(|env, tx| update(statement, env, tx))?;
                self.changed(outcome)
            }
            StatementKind::Delete(statement) => {
                let outcome = self.operate(|env, tx| delete(statement, env, tx))?;
                self.changed(outcome)
            }
            StatementKind::Ddl(ddl) => {
                let DdlStatement::CreateTable(create) = &**ddl else { panic!("not CREATE TABLE") };
                let def = table_definition(&create.elements, create.name.name().as_str())?;
                let name = engine_name(&create.name)?;
                self.operate(|_, tx| tx.create_table(&name, def))?;
                Ok(Vec::new())
            }
            other => panic!("the bench does not run {other:?}"),
        }
    }

    fn declare(&mut self, declaration: &Declaration) -> Result<(), SqlError> {
        match declaration {
            Declaration::Scalar { name, data_type, value } => {
                let ty = resolve_type(data_type)?;
                self.variables.scalars.push((name.as_str().to_owned(), ty, Value::Null));
                let Some(value) = value else { return Ok(()) };
                let (_, value) = self.operate(|env, tx| evaluate(value, env, tx))?;
                self.assign(name.as_str(), value)
            }
            Declaration::Table { name, elements } => {
                let table = TableVariable::define(elements)?;
                self.variables.tables.push((name.as_str().to_owned(), table));
                Ok(())
            }
            Declaration::Cursor(_) => panic!("the bench has no cursors"),
        }
    }

    fn assign(&mut self, name: &str, value: Value) -> Result<(), SqlError> {
        let ty = *self.variables.variable(name).expect("declared before").0;
        self.variables.set_variable(name, convert(value, ty, None, false)?);
        Ok(())
    }

    fn counted(&mut self, count: usize, rows: Vec<Vec<Value>>) -> Result<Vec<Vec<Value>>, SqlError> {
        self.variables.row_count = count as i32;
        Ok(rows)
    }

    fn changed(&mut self, outcome: DmlOutcome) -> Result<Vec<Vec<Value>>, SqlError> {
        self.counted(outcome.count, outcome.output.map(|(_, rows)| rows).unwrap_or_default())
    }

    fn operate<T>(
        &mut self,
        f: impl FnOnce(&mut dyn Environment, &mut Tx<'_>) -> Op<T>,
    ) -> Result<T, SqlError> {
        let call = Call { session: self.session, now: NOW };
        let variables = &mut self.variables;
        match self.core.statement(&call, |tx| f(variables, tx))? {
            Step::Done(value) => Ok(value),
            Step::Blocked(wait) => panic!("blocked on {:?}", wait.on),
        }
    }
}

/// What a script in an engine of its own returns.
fn run(text: &str) -> String {
    Bench::new().run(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The number of the error a script ends in.
fn fails(text: &str) -> i32 {
    match Bench::new().run(text) {
        Ok(rows) => panic!("{text} did not fail but returned {rows}"),
        Err(error) => error.number,
    }
}

/// Runs scripts and compares what they return.
fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(run(text), *expected, "{text}");
    }
}

fn shown(row: &[Value]) -> String {
    let text = |value: &Value| if value.is_null() { "NULL".to_owned() } else { display(value) };
    row.iter().map(text).collect::<Vec<_>>().join("|")
}
