//! Errors the interpreter raises itself: control of flow, procedures, messages. One function per number, own wording.
//!
//! Errors of names, rows and conversations belong to the engine, those of expressions to `relational`; they must not be
//! repeated here.

use crate::error::SqlError;
use crate::tsql::ParseError;

/// What is wrong with a text that does not parse.
pub(super) fn syntax(error: ParseError) -> SqlError {
    SqlError::with_severity(error.number, 15, error.message).state(error.state).at_line(error.line)
}

/// 134: a variable declared twice in one batch.
pub(super) fn variable_declared_twice(name: &str) -> SqlError {
    let text =
        format!("the variable '{name}' is declared twice; names are unique within a batch or procedure");
    SqlError::with_severity(134, 15, text)
}

/// 137: a variable used before its declaration.
pub(super) fn variable_not_declared(name: &str) -> SqlError {
    SqlError::with_severity(137, 15, format!("Must declare the scalar variable \"{name}\"."))
}

/// 1087: a table variable used without a declaration.
pub(super) fn table_variable_not_declared(name: &str) -> SqlError {
    SqlError::with_severity(1087, 15, format!("Must declare the table variable \"{name}\"."))
}

/// 1228: an application lock procedure called with something it cannot use. The number is assumed for a transaction that
/// is missing.
pub(super) fn application_lock(procedure: &str, what: &str) -> SqlError {
    SqlError::new(1228, format!("{procedure} cannot use the {what}"))
}

/// 1223: an application lock given up that is not held.
pub(super) fn application_lock_not_held(resource: &str) -> SqlError {
    SqlError::new(
        1223,
        format!("the application lock '{resource}' cannot be released, because it is not held"),
    )
}

/// 9609: prefixes before a name that takes none.
pub(super) fn too_many_prefixes(kind: &str, name: &str) -> SqlError {
    SqlError::new(9609, format!("{kind} name '{name}' has more prefixes than the 0 allowed"))
}

/// 8164: INSERT .. EXEC inside another.
pub(super) fn nested_insert_exec() -> SqlError {
    SqlError::new(8164, "INSERT .. EXEC cannot stand in what another INSERT .. EXEC runs")
}

/// 133: GOTO names a label the batch lacks.
pub(super) fn label_not_found(label: &str) -> SqlError {
    let text = format!("GOTO refers to the label '{label}', which this batch or procedure does not have");
    SqlError::with_severity(133, 15, text)
}

/// 132: a label set twice.
pub(super) fn label_twice(label: &str) -> SqlError {
    let text = format!("the label '{label}' is set twice; labels are unique within a batch or procedure");
    SqlError::with_severity(132, 15, text)
}

/// 1026: GOTO into a TRY or CATCH block.
pub(super) fn goto_into_try(label: &str) -> SqlError {
    let text = format!("GOTO cannot jump into the TRY or CATCH scope that holds the label '{label}'");
    SqlError::with_severity(1026, 15, text)
}

/// 135: BREAK outside a loop.
pub(super) fn break_outside_loop() -> SqlError {
    SqlError::with_severity(135, 15, "BREAK stands outside a WHILE loop")
}

/// 136: CONTINUE outside a loop.
pub(super) fn continue_outside_loop() -> SqlError {
    SqlError::with_severity(136, 15, "CONTINUE stands outside a WHILE loop")
}

/// 178: RETURN with a value outside a procedure.
pub(super) fn return_value_outside_procedure() -> SqlError {
    SqlError::with_severity(178, 15, "RETURN with a value needs a procedure around it")
}

/// 10704: THROW without arguments outside CATCH.
pub(super) fn throw_outside_catch() -> SqlError {
    SqlError::with_severity(10704, 15, "THROW without arguments can only stand inside a CATCH block")
}

/// 35100: THROW with a number below 50000.
pub(super) fn throw_number(number: i64) -> SqlError {
    let text = format!("THROW got the error number {number}; it must be from 50000 to 2147483647");
    SqlError::new(35100, text).state(10)
}

/// 2732: RAISERROR with a number that is not a user's.
pub(super) fn raiserror_number(number: i64) -> SqlError {
    let text =
        format!("RAISERROR got the number {number}; it must be from 13000 to 2147483647 and not 50000");
    SqlError::new(2732, text)
}

/// 18054: RAISERROR with a number no message is kept for.
pub(super) fn no_such_message(number: i64, severity: i64, state: i64) -> SqlError {
    let text = format!(
        "error {number}, severity {severity}, state {state} was raised, but sys.messages holds no text of that number"
    );
    SqlError::new(18054, text)
}

/// 2745: the session is closed after an error of severity 20 and above.
pub(super) fn session_terminated(spid: i64) -> SqlError {
    let text = format!("process {spid} raised a fatal user error; its connection is being closed");
    SqlError::new(2745, text).state(2)
}

/// 2747: too many RAISERROR arguments.
pub(super) fn too_many_substitutions() -> SqlError {
    SqlError::new(2747, "RAISERROR takes at most 20 substitution arguments")
}

/// 2748: an argument's type cannot be substituted.
pub(super) fn substitution_type(position: usize) -> SqlError {
    let text = format!("RAISERROR argument {position} has a type that cannot be substituted into a message");
    SqlError::new(2748, text)
}

/// 2754: severities above 18 need WITH LOG.
pub(super) fn severity_needs_log() -> SqlError {
    SqlError::new(2754, "severities above 18 are reserved for members of sysadmin and need WITH LOG")
}

/// 2756: a RAISERROR state out of range.
pub(super) fn raiserror_state(state: i64) -> SqlError {
    SqlError::new(2756, format!("RAISERROR got the state {state}; it must be from 0 to 255"))
}

/// 2786: an argument does not fit its place in the message.
pub(super) fn substitution_mismatch(position: usize) -> SqlError {
    let text =
        format!("RAISERROR argument {position} does not fit the type its place in the message asks for");
    SqlError::new(2786, text)
}

/// 2787: a place in a message that is not understood.
pub(super) fn format_specification(specification: &str) -> SqlError {
    SqlError::new(2787, format!("the format specification '{specification}' is invalid"))
}

/// 217: procedures nested too deeply.
pub(super) fn nested_too_deeply() -> SqlError {
    SqlError::new(217, "procedures, functions, triggers and dynamic batches nest at most 32 levels deep")
}

/// 266: a procedure left another transaction count than it found.
pub(super) fn transaction_count_differs(before: i32, now: i32) -> SqlError {
    let text = format!(
        "the transaction count after EXECUTE differs: a BEGIN or COMMIT is missing (before {before}, now {now})"
    );
    SqlError::new(266, text).state(2)
}

/// 3998: a batch ended with a doomed transaction.
pub(super) fn uncommittable_at_end() -> SqlError {
    SqlError::new(3998, "the batch ended with an uncommittable transaction, which has been rolled back")
}

/// 148: a time that WAITFOR cannot read.
pub(super) fn waitfor_time(text: &str) -> SqlError {
    SqlError::with_severity(148, 15, format!("WAITFOR got the time '{text}', which has the wrong form"))
}

/// 2812: no procedure of that name.
pub(super) fn procedure_not_found(name: &str) -> SqlError {
    SqlError::new(2812, format!("there is no stored procedure '{name}'")).state(62)
}

/// 201: a parameter without a value.
pub(super) fn parameter_missing(procedure: &str, name: &str) -> SqlError {
    let text = format!("the procedure '{procedure}' expects the parameter '{name}', which was not supplied");
    SqlError::new(201, text).state(4)
}

/// 8178: a parameter of a parameterised query without a value.
pub(super) fn query_parameter_missing(declaration: &str, name: &str) -> SqlError {
    let text = format!(
        "the parameterised query '({declaration})' expects the parameter '{name}', which was not supplied"
    );
    SqlError::new(8178, text)
}

/// 8144: more arguments than parameters.
pub(super) fn too_many_arguments(procedure: &str) -> SqlError {
    SqlError::new(8144, format!("the procedure '{procedure}' got more arguments than it has parameters"))
        .state(2)
}

/// 8145: an argument for a parameter the procedure lacks.
pub(super) fn no_such_parameter(procedure: &str, name: &str) -> SqlError {
    SqlError::new(8145, format!("'{name}' is not a parameter of the procedure '{procedure}'"))
}

/// 8143: one parameter got two arguments.
pub(super) fn parameter_twice(name: &str) -> SqlError {
    SqlError::new(8143, format!("the parameter '{name}' was supplied more than once"))
}

/// 8162: OUTPUT asked of a parameter that is not declared so.
pub(super) fn not_an_output_parameter(name: &str) -> SqlError {
    let text = format!("the parameter '{name}' is asked for as OUTPUT but is not declared as OUTPUT");
    SqlError::new(8162, text).state(2)
}

/// 119: a positional argument after a named one.
pub(super) fn positional_after_named(position: usize) -> SqlError {
    let text = format!("argument {position} and all after it must be given as '@name = value'");
    SqlError::with_severity(119, 15, text)
}

/// 214: an argument of a built-in procedure has the wrong type.
pub(super) fn procedure_expects(parameter: &str, ty: &str) -> SqlError {
    SqlError::new(214, format!("the procedure expects the parameter '{parameter}' of type '{ty}'")).state(2)
}

/// 8179: a prepared statement that does not exist.
pub(super) fn no_prepared_statement(handle: i64) -> SqlError {
    SqlError::new(8179, format!("there is no prepared statement with the handle {handle}")).state(2)
}

/// 154: USE inside a procedure.
pub(super) fn use_in_procedure() -> SqlError {
    SqlError::with_severity(154, 15, "USE is not allowed in a procedure, function or trigger")
}

/// 8402: a clause got a value of the wrong type (also U-38: a negative TIMEOUT other than -1).
pub(super) fn clause_type(clause: &str, expected: &str) -> SqlError {
    SqlError::new(8402, format!("the value of {clause} must be of type {expected}"))
}

/// 8406: LIFETIME is NULL.
pub(super) fn lifetime_is_null() -> SqlError {
    SqlError::new(8406, "the LIFETIME of a dialog must not be NULL")
}

/// 8417: the contract's name is NULL.
pub(super) fn contract_name_is_null() -> SqlError {
    SqlError::new(8417, "the name of the contract must not be NULL")
}

/// 8418: no conversation handle.
pub(super) fn handle_missing() -> SqlError {
    SqlError::new(8418, "the conversation handle is missing; a value that is not NULL is needed")
}

/// 8419, 8422, 8424: END CONVERSATION WITH ERROR lacks its code, its description, or both.
pub(super) fn error_incomplete(code_missing: bool, description_missing: bool) -> SqlError {
    match (code_missing, description_missing) {
        (true, true) => SqlError::new(8424, "WITH ERROR needs a code and a description, and both are NULL"),
        (true, false) => {
            SqlError::new(8419, "WITH ERROR needs a code and a description, and the code is NULL")
        }
        _ => SqlError::new(8422, "WITH ERROR needs a description, which is NULL"),
    }
}

/// 8420: no conversation group.
pub(super) fn group_missing() -> SqlError {
    SqlError::new(8420, "the conversation group is missing; a value that is not NULL is needed")
}

/// 8421: no service name.
pub(super) fn service_name_missing() -> SqlError {
    SqlError::new(8421, "the name of the service is missing; a value that is not NULL is needed")
}

/// 8447: RECEIVE that assigns and retrieves.
pub(super) fn receive_mixes() -> SqlError {
    SqlError::new(8447, "a RECEIVE that assigns values to variables cannot return columns too")
}

/// 8450: RECEIVE that assigns and stores.
pub(super) fn receive_assigns_into() -> SqlError {
    SqlError::new(8450, "a RECEIVE that assigns values to variables cannot store rows with INTO too")
}

/// 213: a rowset's width differs from its table variable's.
pub(super) fn column_count_differs() -> SqlError {
    SqlError::new(213, "the number of received columns differs from the columns of the table variable")
}

/// 195: SET names an option that does not exist.
pub(super) fn unknown_option(name: &str) -> SqlError {
    SqlError::with_severity(195, 15, format!("'{name}' is not an option SET knows"))
}

/// 1012-style: a SET option got a value it cannot take.
pub(super) fn invalid_option(option: &str, value: &str) -> SqlError {
    SqlError::with_severity(102, 15, format!("SET {option} cannot take the value '{value}'"))
}

/// 1060: TOP with a number that is NULL or negative.
pub(super) fn top_needs_a_number() -> SqlError {
    SqlError::with_severity(1060, 15, "TOP needs a whole number that is neither NULL nor negative")
}

/// 102: GRANT of a permission that its securable does not have.
pub(super) fn permission_does_not_apply(permission: &str) -> SqlError {
    SqlError::with_severity(
        102,
        15,
        format!("the permission {permission} does not exist on this kind of securable"),
    )
}

/// 15151: the securable of GRANT does not exist, or the principal may not know of it.
pub(super) fn securable_not_found(class: &str, name: &str) -> SqlError {
    let text =
        format!("cannot find the {class} '{name}', because it does not exist or you do not have permission");
    SqlError::new(15151, text)
}

/// 16905: OPEN of an open cursor.
pub(super) fn cursor_already_open() -> SqlError {
    SqlError::new(16905, "the cursor is already open")
}

/// 16911: FETCH other than NEXT from a cursor that goes forward only.
pub(super) fn cursor_forward_only() -> SqlError {
    SqlError::new(16911, "this cursor goes forward only; FETCH NEXT is the one direction it has")
}

/// 16915: a cursor declared twice.
pub(super) fn cursor_exists(name: &str) -> SqlError {
    SqlError::new(16915, format!("a cursor named '{name}' exists already"))
}

/// 16916: no cursor of that name.
pub(super) fn no_cursor(name: &str) -> SqlError {
    SqlError::new(16916, format!("there is no cursor named '{name}'"))
}

/// 16917: a cursor that is not open.
pub(super) fn cursor_not_open() -> SqlError {
    SqlError::new(16917, "the cursor is not open")
}

/// 16924: FETCH INTO with another number of variables than the cursor has columns.
pub(super) fn fetch_into_count() -> SqlError {
    SqlError::new(16924, "FETCH INTO needs as many variables as the cursor has columns")
}
