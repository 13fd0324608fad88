//! Values and conditions.

use super::{error_number, only};
use crate::tsql::ast::expr::{BinaryOp, FunctionArguments, UnaryOp};
use crate::tsql::ast::query::QueryBody;
use crate::tsql::ast::{Condition, Expr, Literal, SelectItem, StatementKind};
use crate::tsql::parser::{ParseOptions, parse_batch};

fn value(text: &str) -> Expr {
    let StatementKind::Print(value) = only(&format!("PRINT {text}")) else { panic!("{text}") };
    value
}

fn condition(text: &str) -> Condition {
    let StatementKind::If(inner) = only(&format!("IF {text} PRINT 'x'")) else { panic!("{text}") };
    inner.condition
}

/// An expression with every grouping shown.
fn grouped(value: &Expr) -> String {
    match value {
        Expr::Literal(Literal::Int(number)) => number.to_string(),
        Expr::Column(name) => name.to_string(),
        Expr::Unary { op: UnaryOp::Minus, operand } => format!("(-{})", grouped(operand)),
        Expr::Unary { op: UnaryOp::BitNot, operand } => format!("(~{})", grouped(operand)),
        Expr::Binary { op, left, right } => format!("({}{}{})", grouped(left), symbol(*op), grouped(right)),
        Expr::Collate { operand, collation } => format!("({} collate {collation})", grouped(operand)),
        other => panic!("{other:?}"),
    }
}

fn symbol(op: BinaryOp) -> char {
    match op {
        BinaryOp::Add => '+',
        BinaryOp::Subtract => '-',
        BinaryOp::Multiply => '*',
        BinaryOp::Divide => '/',
        BinaryOp::Modulo => '%',
        BinaryOp::BitAnd => '&',
        BinaryOp::BitOr => '|',
        BinaryOp::BitXor => '^',
    }
}

#[test]
fn operators_group_by_strength_and_from_the_left() {
    let cases = [
        ("1 + 2 * 3", "(1+(2*3))"),
        ("1 - 2 - 3", "((1-2)-3)"),
        ("1 & 2 + 3", "((1&2)+3)"),
        ("-1 % 3", "((-1)%3)"),
        ("~a * -(2 + 3)", "((~a)*(-(2+3)))"),
        ("a + b COLLATE c", "(a+(b collate c))"),
        ("((1) + (2)) / 3", "((1+2)/3)"),
        ("1--1", "1"),
    ];
    for (text, expected) in cases {
        assert_eq!(grouped(&value(text)), expected, "{text}");
    }
}

#[test]
fn conditions_group_not_before_and_before_or() {
    let Condition::Or(alternatives) = condition("NOT a = 1 AND b = 2 OR c = 3") else { panic!() };
    let Condition::And(both) = &alternatives[0] else { panic!() };
    assert!(matches!(both[0], Condition::Not(_)));
    assert_eq!((alternatives.len(), both.len()), (2, 2));
}

#[test]
fn parentheses_hold_values_or_conditions() {
    assert!(matches!(condition("((a) + 1) = 2"), Condition::Compare { .. }));
    assert!(matches!(condition("((a = 1))"), Condition::Compare { .. }));
    assert!(matches!(condition("(a = 1 OR (b) = 2) AND c = 3"), Condition::And(_)));
    assert!(matches!(value("((SELECT 1) + 1)"), Expr::Binary { .. }));
    assert!(matches!(value("((SELECT 1) UNION SELECT 2)"), Expr::Subquery(_)));
    assert!(matches!(condition("1 IN ((SELECT 1) UNION SELECT 2)"), Condition::InQuery { .. }));
    assert!(matches!(condition("1 IN ((SELECT 1) + 1, 2)"), Condition::InList { .. }));
}

#[test]
fn every_predicate_has_its_negation() {
    assert!(matches!(condition("a IS NOT NULL"), Condition::IsNull { negated: true, .. }));
    assert!(matches!(
        condition("a NOT LIKE 'x' ESCAPE '!'"),
        Condition::Like { negated: true, escape: Some(_), .. }
    ));
    assert!(matches!(condition("a NOT BETWEEN 1 AND 2"), Condition::Between { negated: true, .. }));
    assert!(matches!(condition("a NOT IN (1)"), Condition::InList { negated: true, .. }));
    assert!(matches!(condition("NOT EXISTS (SELECT 1)"), Condition::Not(_)));
    assert!(matches!(condition("a < = ALL (SELECT 1)"), Condition::Quantified { all: true, .. }));
    assert!(matches!(condition("UPDATE(a)"), Condition::ColumnUpdated(_)));
}

#[test]
fn values_and_conditions_are_not_interchangeable() {
    assert_eq!(error_number("IF a PRINT 'x'"), 4145);
    assert_eq!(error_number("SELECT 1 WHERE NOT 1"), 4145);
    assert_eq!(error_number("PRINT (1 = 1)"), 102);
    assert_eq!(error_number("SELECT 1 WHERE a = 1 = 2"), 102);
    assert_eq!(error_number("SELECT CASE WHEN 1 THEN 2 END"), 4145);
}

#[test]
fn constants_keep_their_kind() {
    let literal = |text| match value(text) {
        Expr::Literal(literal) => literal,
        other => panic!("{other:?}"),
    };
    assert_eq!(literal("2147483647"), Literal::Int(i32::MAX));
    assert_eq!(literal("2147483648"), Literal::Decimal("2147483648".into()));
    assert_eq!(literal("1."), Literal::Decimal("1.".into()));
    assert_eq!(literal("1e"), Literal::Float(1.0));
    assert_eq!(literal("1.5E-3"), Literal::Float(0.0015));
    assert_eq!(literal("$5.25"), Literal::Money("5.25".into()));
    assert_eq!(literal("0x"), Literal::Binary(vec![]));
    assert_eq!(literal("0xABC"), Literal::Binary(vec![0x0a, 0xbc]));
    assert_eq!(literal("'it''s'"), Literal::String { text: "it's".into(), national: false });
    assert_eq!(literal("N'ä'"), Literal::String { text: "ä".into(), national: true });
    assert_eq!(literal("NULL"), Literal::Null);
}

#[test]
fn functions_with_a_syntax_of_their_own_have_their_own_node() {
    assert!(matches!(value("TRY_CAST(a AS int)"), Expr::Cast { is_try: true, .. }));
    assert!(matches!(value("CONVERT(varchar(10), a, 121)"), Expr::Convert { style: Some(_), .. }));
    assert!(matches!(value("PARSE('x' AS date USING 'de')"), Expr::Parse { culture: Some(_), .. }));
    assert!(matches!(value("IIF(1 = 1, 2, 3)"), Expr::Iif { .. }));
    assert!(matches!(value("NEXT VALUE FOR dbo.s"), Expr::NextValueFor(_)));
    assert!(matches!(value("a AT TIME ZONE 'UTC'"), Expr::AtTimeZone { .. }));
    assert!(matches!(value("{ts '2020-01-01 00:00:00'}"), Expr::Cast { .. }));
}

#[test]
fn ordinary_functions_are_calls() {
    let Expr::Function(call) = value("COUNT(DISTINCT a)") else { panic!() };
    assert!(call.distinct);
    let Expr::Function(call) = value("count(*)") else { panic!() };
    assert_eq!(call.arguments, FunctionArguments::Star);
    let Expr::Function(call) = value("CURRENT_TIMESTAMP") else { panic!() };
    assert_eq!(call.arguments.as_slice(), []);
    let Expr::Function(call) = value("LEFT(a, 1)") else { panic!() };
    assert_eq!(call.arguments.as_slice().len(), 2);
    let Expr::Function(call) = value("ROW_NUMBER() OVER (PARTITION BY a ORDER BY b DESC)") else { panic!() };
    assert!(call.over.is_some_and(|window| window.order_by[0].descending));
    let Expr::Function(call) = value("dbo.f(1)") else { panic!() };
    assert_eq!(call.name.parts.len(), 2);
}

#[test]
fn methods_follow_variables_columns_and_parentheses() {
    for text in [
        "@x.value('/a', 'int')",
        "t.c.value('/a', 'int')",
        "CAST(@b AS xml).value('/a', 'int')",
        "(SELECT 1).value('/a', 'int')",
    ] {
        assert!(matches!(value(text), Expr::Method { .. }), "{text}");
    }
}

#[test]
fn double_quotes_are_names_or_strings_by_setting() {
    let parse = |quoted_identifier| {
        let batch = parse_batch("SELECT \"a\"\"b\"", ParseOptions { quoted_identifier }).unwrap();
        let StatementKind::Select(select) = batch.statements.into_iter().next().unwrap().kind else {
            panic!()
        };
        let QueryBody::Select(select) = select.query.body else { panic!() };
        let SelectItem::Value { value, .. } = select.items.into_iter().next().unwrap() else { panic!() };
        value
    };
    assert!(matches!(parse(true), Expr::Column(name) if name.to_string() == "a\"b"));
    assert_eq!(parse(false), Expr::Literal(Literal::String { text: "a\"b".into(), national: false }));
}
