//! Arguments matched with declared parameters, by position and by name.
//!
//! Pure. This file must not know where declarations or arguments come from.

use super::{Argument, Output};
use crate::error::SqlError;
use crate::interpreter::errors;
use crate::interpreter::frame::{Frame, ParameterValue};
use crate::relational::convert;
use crate::tsql::ast::name::eq_ignore_case;
use crate::value::{SqlType, Value};

/// A declared parameter.
#[derive(Debug, Clone)]
pub(super) struct Parameter {
    /// Its name with the `@`.
    pub(super) name: String,
    /// Its type.
    pub(super) ty: SqlType,
    /// Whether it gives its value back.
    pub(super) output: bool,
    /// What it is without an argument.
    pub(super) default: Option<Value>,
}

/// What is called, for errors.
#[derive(Debug, Clone, Copy)]
pub(super) enum Callee<'c> {
    /// A text with parameters, by their declarations.
    Query(&'c str),
    /// A procedure, by its name.
    Procedure(&'c str),
}

impl Callee<'_> {
    fn name(&self) -> &str {
        match self {
            Callee::Query(_) => "sp_executesql",
            Callee::Procedure(name) => name,
        }
    }

    fn missing(&self, parameter: &str) -> SqlError {
        match self {
            Callee::Query(declaration) => errors::query_parameter_missing(declaration, parameter),
            Callee::Procedure(name) => errors::parameter_missing(name, parameter),
        }
    }
}

/// A parameter with its value.
#[derive(Debug)]
pub(super) struct Bound {
    /// The parameter.
    pub(super) parameter: Parameter,
    /// Its value, of the parameter's type.
    pub(super) value: Value,
    /// Position of the argument that wants the value back.
    pub(super) wanted_by: Option<usize>,
}

impl Bound {
    /// What the called program's frame begins with.
    pub(super) fn to_value(&self) -> ParameterValue {
        ParameterValue { name: self.parameter.name.clone(), ty: self.parameter.ty, value: self.value.clone() }
    }
}

/// The values that arguments from `first` on want back, once `frame` has run.
pub(super) fn outputs(frame: &Frame, bound: &[Bound], first: usize) -> Vec<Output> {
    let wanted = bound.iter().filter_map(|bound| Some((bound, bound.wanted_by?)));
    wanted
        .filter_map(|(bound, argument)| {
            let (ty, value) = frame.variables.value_of(&bound.parameter.name)?;
            Some(Output { argument: first + argument, ty, value })
        })
        .collect()
}

/// Gives every parameter its argument or default.
///
/// # Errors
/// 119, 201, 8143, 8144, 8145, 8162, 8178, and those of conversions.
pub(super) fn bind(
    parameters: Vec<Parameter>,
    arguments: &[Argument],
    callee: Callee<'_>,
) -> Result<Vec<Bound>, SqlError> {
    let assigned = positions(&parameters, arguments, callee)?;
    let mut bound = Vec::with_capacity(parameters.len());
    for (parameter, argument) in parameters.into_iter().zip(assigned) {
        bound.push(bind_one(parameter, argument, arguments, callee)?);
    }
    Ok(bound)
}

/// For every parameter the position of its argument.
fn positions(
    parameters: &[Parameter],
    arguments: &[Argument],
    callee: Callee<'_>,
) -> Result<Vec<Option<usize>>, SqlError> {
    let mut assigned = vec![None; parameters.len()];
    let mut named = false;
    for (position, argument) in arguments.iter().enumerate() {
        let parameter = match &argument.name {
            Some(name) => {
                named = true;
                let known = parameters.iter().position(|parameter| eq_ignore_case(&parameter.name, name));
                known.ok_or_else(|| errors::no_such_parameter(callee.name(), name))?
            }
            None if named => return Err(errors::positional_after_named(position + 1)),
            None if position >= parameters.len() => return Err(errors::too_many_arguments(callee.name())),
            None => position,
        };
        if assigned[parameter].replace(position).is_some() {
            return Err(errors::parameter_twice(&parameters[parameter].name));
        }
    }
    Ok(assigned)
}

fn bind_one(
    parameter: Parameter,
    position: Option<usize>,
    arguments: &[Argument],
    callee: Callee<'_>,
) -> Result<Bound, SqlError> {
    let argument = position.map(|position| &arguments[position]);
    let given = argument.and_then(|argument| argument.value.clone()).or_else(|| parameter.default.clone());
    let value = given.ok_or_else(|| callee.missing(&parameter.name))?;
    let wanted = argument.is_some_and(|argument| argument.output);
    if wanted && !parameter.output {
        return Err(errors::not_an_output_parameter(&parameter.name));
    }
    let value = convert(value, parameter.ty, None, false)?;
    Ok(Bound { parameter, value, wanted_by: position.filter(|_| wanted) })
}

#[cfg(test)]
mod tests {
    use super::{Callee, Parameter, bind};
    use crate::interpreter::procedures::Argument;
    use crate::value::{SqlType, Value};

    fn parameters() -> Vec<Parameter> {
        let parameter =
            |name: &str, output| Parameter { name: name.to_owned(), ty: SqlType::Int, output, default: None };
        vec![parameter("@a", false), parameter("@b", true)]
    }

    fn argument(name: Option<&str>, value: i32, output: bool) -> Argument {
        Argument { name: name.map(str::to_owned), value: Some(Value::Int(value)), output }
    }

    fn number(arguments: &[Argument]) -> i32 {
        bind(parameters(), arguments, Callee::Query("@a int, @b int OUTPUT")).unwrap_err().number
    }

    #[test]
    fn arguments_count_by_position_then_by_name_without_case() {
        let bound =
            bind(parameters(), &[argument(None, 1, false), argument(Some("@B"), 2, true)], Callee::Query(""))
                .unwrap();
        assert_eq!(bound[0].value, Value::Int(1));
        assert_eq!((bound[1].value.clone(), bound[1].wanted_by), (Value::Int(2), Some(1)));
    }

    #[test]
    fn defaults_stand_in_for_arguments_and_procedures_have_their_own_number() {
        let mut parameters = parameters();
        parameters[0].default = Some(Value::Int(7));
        let bound =
            bind(parameters.clone(), &[argument(Some("@b"), 1, true)], Callee::Procedure("p")).unwrap();
        assert_eq!(bound[0].value, Value::Int(7));
        assert_eq!(bind(parameters, &[], Callee::Procedure("p")).unwrap_err().number, 201);
    }

    #[test]
    fn what_does_not_match_has_a_number() {
        let one = || argument(None, 1, false);
        assert_eq!(number(&[one()]), 8178);
        assert_eq!(number(&[one(), one(), one()]), 8144);
        assert_eq!(number(&[one(), argument(Some("@c"), 1, false)]), 8145);
        assert_eq!(number(&[one(), argument(Some("@a"), 1, false)]), 8143);
        assert_eq!(number(&[argument(Some("@a"), 1, false), one()]), 119);
        assert_eq!(number(&[argument(None, 1, true), one()]), 8162);
    }
}
