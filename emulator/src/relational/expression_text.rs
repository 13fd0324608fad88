//! Expressions back to text, for what a table keeps of them: DEFAULT.
//!
//! Only forms that stand in defaults are written; anything else is refused rather than changed in meaning.

use crate::error::SqlError;
use crate::tsql::ast::expr::{BinaryOp, FunctionArguments, FunctionCall, UnaryOp};
use crate::tsql::ast::name::{DataTypeName, TypeArguments};
use crate::tsql::ast::{Expr, Literal, ObjectName};

/// The expression as T-SQL that means the same.
///
/// # Errors
/// 40510 for forms that are not written.
pub(crate) fn expression_text(expr: &Expr) -> Result<String, SqlError> {
    Ok(match expr {
        Expr::Literal(literal) => literal_text(literal),
        Expr::Unary { op, operand } => format!("({}{})", unary(*op), expression_text(operand)?),
        Expr::Binary { op, left, right } => {
            format!("({}{}{})", expression_text(left)?, binary(*op), expression_text(right)?)
        }
        Expr::Cast { operand, data_type, is_try: false } => {
            format!("CAST({} AS {})", expression_text(operand)?, type_text(data_type)?)
        }
        Expr::Convert { data_type, operand, style, is_try: false } => {
            let style = style.as_deref().map(expression_text).transpose()?;
            let style = style.map_or_else(String::new, |style| format!(", {style}"));
            format!("CONVERT({}, {}{style})", type_text(data_type)?, expression_text(operand)?)
        }
        Expr::Function(call) => call_text(call)?,
        Expr::Column(name) if name.parts.len() == 1 => name_text(name),
        _ => return Err(SqlError::unsupported("DEFAULT with this expression")),
    })
}

fn literal_text(literal: &Literal) -> String {
    match literal {
        Literal::Null => "NULL".to_owned(),
        Literal::Int(value) => value.to_string(),
        Literal::Decimal(digits) => digits.clone(),
        Literal::Float(value) => format!("{value:e}"),
        Literal::Money(digits) => format!("${digits}"),
        Literal::String { text, national } => {
            format!("{}'{}'", if *national { "N" } else { "" }, text.replace('\'', "''"))
        }
        Literal::Binary(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("0x{digits}")
        }
    }
}

fn unary(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Minus => "-",
        UnaryOp::Plus => "+",
        UnaryOp::BitNot => "~",
    }
}

fn binary(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Subtract => " - ",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Modulo => "%",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
    }
}

fn type_text(data_type: &DataTypeName) -> Result<String, SqlError> {
    let name = name_text(&data_type.name);
    Ok(match &data_type.arguments {
        TypeArguments::None => name,
        TypeArguments::One(length) => format!("{name}({length})"),
        TypeArguments::Two(precision, scale) => format!("{name}({precision}, {scale})"),
        TypeArguments::Max => format!("{name}(max)"),
        TypeArguments::XmlSchemaCollection(_) => return Err(SqlError::unsupported("DEFAULT with typed xml")),
    })
}

fn name_text(name: &ObjectName) -> String {
    let quoted = |text: &str| format!("[{}]", text.replace(']', "]]"));
    let part =
        |part: &crate::tsql::ast::Ident| if part.delimited { quoted(&part.text) } else { part.text.clone() };
    name.parts.iter().map(part).collect::<Vec<_>>().join(".")
}

fn call_text(call: &FunctionCall) -> Result<String, SqlError> {
    let plain = call.over.is_none() && call.within_group.is_empty() && !call.distinct;
    let FunctionArguments::List(arguments) = &call.arguments else {
        return Err(SqlError::unsupported("DEFAULT with this function"));
    };
    if !plain {
        return Err(SqlError::unsupported("DEFAULT with this function"));
    }
    let arguments = arguments.iter().map(expression_text).collect::<Result<Vec<_>, _>>()?;
    let name = name_text(&call.name);
    // These are written without parentheses.
    let bare = ["CURRENT_TIMESTAMP", "CURRENT_USER", "SESSION_USER", "SYSTEM_USER", "USER"];
    if arguments.is_empty() && bare.iter().any(|bare| bare.eq_ignore_ascii_case(&name)) {
        return Ok(name);
    }
    Ok(format!("{name}({})", arguments.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::expression_text;
    use crate::relational::stored_expression::parse_expression;

    #[test]
    fn what_is_written_parses_to_the_same() {
        for text in [
            "1",
            "(-(2.50))",
            "N'it''s'",
            "getdate()",
            "(1 + 2)*3",
            "CONVERT(varchar(10), getdate(), 112)",
            "0x0A",
        ] {
            let expr = parse_expression(text).unwrap();
            let written = expression_text(&expr).unwrap();
            assert_eq!(parse_expression(&written).unwrap(), expr, "{text} as {written}");
        }
    }
}
