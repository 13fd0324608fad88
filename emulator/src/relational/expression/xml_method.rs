//! Methods of xml values in expressions: value, query, exist.
//!
//! The column of a row of `.nodes()` is told from an xml column by its collation, which xml otherwise has none of; only
//! the methods may use it.

use crate::engine::Op;
use crate::error::SqlError;
use crate::relational::errors;
use crate::relational::expression::bind::Binder;
use crate::relational::expression::{Bound, Node};
use crate::relational::resolve_type::resolve_type;
use crate::relational::types::type_name;
use crate::relational::xml::{XmlMethod, parse_path, require_singleton};
use crate::tsql::ast::{Expr, Literal};
use crate::tsql::parse_parameter_declarations;
use crate::value::{Collation, Column, SqlType};

/// The column of a row of `.nodes()`.
pub(crate) fn nodes_column(name: &str) -> Column {
    Column { collation: Collation::Binary, ..Column::new(name, SqlType::Xml) }
}

/// Whether a column is one of `.nodes()`.
pub(crate) fn is_nodes_column(column: &Column) -> bool {
    column.ty == SqlType::Xml && column.collation == Collation::Binary
}

/// A string constant among the arguments of a method.
pub(crate) fn constant<'e>(argument: Option<&'e Expr>, method: &str) -> Result<&'e str, SqlError> {
    match argument {
        Some(Expr::Literal(Literal::String { text, .. })) => Ok(text),
        _ => Err(errors::xml_argument(method)),
    }
}

impl Binder<'_, '_, '_> {
    /// `target.method('path' [, 'type'])`; the names of the methods are lower case.
    pub(super) fn xml_method(&mut self, target: &Expr, method: &str, arguments: &[Expr]) -> Op<Bound> {
        let target = self.xml_target(target)?;
        let method = match method {
            "value" => XmlMethod::Value(type_of(constant(arguments.get(1), method)?)?),
            "exist" => XmlMethod::Exist,
            "query" => XmlMethod::Query,
            other => return Err(SqlError::unsupported(format!("method .{other}()")).into()),
        };
        let path = parse_path(constant(arguments.first(), "value")?, &self.ctes.namespaces())?;
        if matches!(method, XmlMethod::Value(_)) {
            require_singleton(&path)?;
        }
        let ty = method.result();
        Ok(Bound::new(Node::Xml { target: Box::new(target), method, path }, ty))
    }

    /// The value that a method is called on.
    pub(crate) fn xml_target(&mut self, target: &Expr) -> Op<Bound> {
        let bound = match target {
            Expr::Column(name) => {
                let found = self.scope.find(name)?;
                let bound = Bound::column(found.index, &found.column);
                Bound { node: Node::Column { level: found.level, index: found.index }, ..bound }
            }
            other => self.expression(other)?,
        };
        if bound.ty != SqlType::Xml {
            return Err(errors::no_methods_on(type_name(bound.ty)).into());
        }
        Ok(bound)
    }
}

/// The type that a text such as `nvarchar(100)` names.
fn type_of(text: &str) -> Result<SqlType, SqlError> {
    let declared = parse_parameter_declarations(&format!("@value {text}"));
    let declared = declared.map_err(|error| SqlError::with_severity(error.number, 15, error.message))?;
    let parameter = declared.first().ok_or_else(|| errors::xml_argument("value"))?;
    resolve_type(&parameter.data_type)
}
