//! Calls of procedures: those built into the server, by name or number, from EXECUTE and from remote calls.
//!
//! | module | holds |
//! |---|---|
//! | `application_locks` | `sp_getapplock`, `sp_releaseapplock` |
//! | `binding` | arguments matched with declared parameters |
//! | `parameterised` | `sp_executesql`, `sp_prepare` and its kin |
//! | `stored` | procedures that users made |
//! | `nested` | programs run inside another: levels, settings, the transaction count |
//! | `datatype_info` | the rows of `sp_datatype_info` |
//!
//! This folder must not know how calls arrive.

mod application_locks;
mod binding;
mod datatype_info;
mod nested;
mod parameterised;
mod stored;

pub(super) use parameterised::Prepared;
pub(crate) use stored::Procedure;
pub(super) use stored::define;

use std::future::Future;
use std::pin::Pin;

use super::execution::{Execution, Stop};
use crate::error::SqlError;
use crate::value::{SqlType, Value};

/// An argument of a call.
#[derive(Debug, Clone)]
pub(super) struct Argument {
    /// Name of the parameter it is for; `None` when it counts by position.
    pub(super) name: Option<String>,
    /// The value; `None` asks for the parameter's default.
    pub(super) value: Option<Value>,
    /// Whether the caller wants the value back.
    pub(super) output: bool,
}

/// What a call gave back.
#[derive(Debug, Default)]
pub(super) struct Returned {
    /// Return status.
    pub(super) status: i32,
    /// Values of the arguments passed as OUTPUT.
    pub(super) outputs: Vec<Output>,
    /// 266, when the procedure left another transaction count than it found. It counts after the outputs do.
    pub(super) mismatch: Option<SqlError>,
}

/// The value of one OUTPUT argument.
#[derive(Debug)]
pub(super) struct Output {
    /// Which argument of the call, 0-based.
    pub(super) argument: usize,
    /// Type of the parameter.
    pub(super) ty: SqlType,
    /// The value.
    pub(super) value: Value,
}

/// A procedure that is part of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BuiltIn {
    /// `sp_executesql`
    ExecuteSql,
    /// `sp_prepare`
    Prepare,
    /// `sp_execute`
    Execute,
    /// `sp_prepexec`
    PrepareAndExecute,
    /// `sp_unprepare`
    Unprepare,
    /// `sp_getapplock`
    GetApplicationLock,
    /// `sp_releaseapplock`
    ReleaseApplicationLock,
    /// `sp_reset_connection`
    ResetConnection,
    /// `sp_datatype_info` and `sp_datatype_info_100`
    DatatypeInfo,
    /// `sp_describe_undeclared_parameters`
    DescribeUndeclaredParameters,
}

const BUILT_IN: &[(&str, Option<u16>, BuiltIn)] = &[
    ("sp_executesql", Some(10), BuiltIn::ExecuteSql),
    ("sp_prepare", Some(11), BuiltIn::Prepare),
    ("sp_execute", Some(12), BuiltIn::Execute),
    ("sp_prepexec", Some(13), BuiltIn::PrepareAndExecute),
    ("sp_unprepare", Some(15), BuiltIn::Unprepare),
    ("sp_getapplock", None, BuiltIn::GetApplicationLock),
    ("sp_releaseapplock", None, BuiltIn::ReleaseApplicationLock),
    ("sp_reset_connection", None, BuiltIn::ResetConnection),
    ("sp_datatype_info", None, BuiltIn::DatatypeInfo),
    ("sp_datatype_info_100", None, BuiltIn::DatatypeInfo),
    ("sp_describe_undeclared_parameters", None, BuiltIn::DescribeUndeclaredParameters),
];

impl BuiltIn {
    /// The procedure of that name, written with or without a schema (`sys`, `dbo`).
    pub(super) fn by_name(name: &str) -> Option<BuiltIn> {
        let name = last_part(name);
        BUILT_IN.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name)).map(|(.., built_in)| *built_in)
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        BUILT_IN.iter().find(|(.., known)| *known == self).map_or("", |(name, ..)| name)
    }

    /// The procedure of that number in a remote call (MS-TDS 2.2.6.6).
    ///
    /// # Errors
    /// 40510 for the cursor procedures and others the emulator lacks.
    pub(super) fn by_number(number: u16) -> Result<BuiltIn, SqlError> {
        let known = BUILT_IN.iter().find(|(_, known, _)| *known == Some(number));
        let unsupported = || SqlError::unsupported(format_args!("the remote procedure number {number}"));
        known.map(|(.., built_in)| *built_in).ok_or_else(unsupported)
    }
}

/// A call on its way. On the heap, so that nested procedures need little stack.
pub(super) type Calling<'r> = Pin<Box<dyn Future<Output = Result<Returned, Stop>> + Send + 'r>>;

/// Calls the procedure of that name, built in or stored.
///
/// # Errors
/// 2812 when there is none, otherwise what the procedure raises.
pub(super) fn call_by_name<'r>(
    execution: &'r mut Execution<'_>,
    name: &'r str,
    arguments: Vec<Argument>,
) -> Calling<'r> {
    match BuiltIn::by_name(name) {
        Some(built_in) => Box::pin(call(execution, built_in, arguments)),
        None => Box::pin(stored::call(execution, name, arguments)),
    }
}

/// Calls a procedure of the server.
pub(super) async fn call(
    execution: &mut Execution<'_>,
    built_in: BuiltIn,
    arguments: Vec<Argument>,
) -> Result<Returned, Stop> {
    match built_in {
        BuiltIn::ExecuteSql => parameterised::execute_sql(execution, arguments).await,
        BuiltIn::Prepare => parameterised::prepare(execution, arguments),
        BuiltIn::Execute => parameterised::execute(execution, arguments).await,
        BuiltIn::PrepareAndExecute => parameterised::prepare_and_execute(execution, arguments).await,
        BuiltIn::Unprepare => parameterised::unprepare(execution, &arguments),
        BuiltIn::GetApplicationLock => application_locks::get(execution, &arguments).await,
        BuiltIn::ReleaseApplicationLock => application_locks::release(execution, &arguments).await,
        BuiltIn::ResetConnection => {
            execution.reset(false)?;
            Ok(Returned::default())
        }
        BuiltIn::DatatypeInfo => datatype_info::run(execution, &arguments).await,
        BuiltIn::DescribeUndeclaredParameters => {
            Err(SqlError::unsupported("sp_describe_undeclared_parameters").into())
        }
    }
}

/// The last part of a name of several parts, without its brackets.
fn last_part(name: &str) -> &str {
    let unquoted = name.trim().trim_end_matches(';');
    let last = unquoted.rsplit('.').next().unwrap_or(unquoted).trim();
    last.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::BuiltIn;

    #[test]
    fn names_come_with_schemas_brackets_and_any_case() {
        for name in ["sp_executesql", "SP_EXECUTESQL", "sys.sp_executesql", "[sys].[sp_executesql]"] {
            assert_eq!(BuiltIn::by_name(name), Some(BuiltIn::ExecuteSql), "{name}");
        }
        assert_eq!(BuiltIn::by_name("[sys].sp_datatype_info_100"), Some(BuiltIn::DatatypeInfo));
        assert_eq!(BuiltIn::by_name("sp_nothing"), None);
    }

    #[test]
    fn numbers_are_those_of_the_protocol() {
        assert_eq!(BuiltIn::by_number(10).unwrap(), BuiltIn::ExecuteSql);
        assert_eq!(BuiltIn::by_number(2).unwrap_err().number, 40510);
    }
}
