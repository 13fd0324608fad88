//! Control flow, variables, settings, EXECUTE, transactions, cursors.

use super::{error_number, only, statements};
use crate::tsql::ast::cursor::{CursorModel, CursorName, CursorStatement, FetchDirection};
use crate::tsql::ast::statement::{
    Declaration, ExecuteTarget, IsolationLevel, SetOption, TransactionName, TransactionStatement,
    VariableChange,
};
use crate::tsql::ast::{Expr, Literal, StatementKind, TypeArguments};

fn data_type(text: &str) -> (String, TypeArguments) {
    let StatementKind::Declare(declarations) = only(&format!("DECLARE @v {text}")) else { panic!("{text}") };
    let Declaration::Scalar { data_type, .. } = &declarations[0] else { panic!("{text}") };
    (data_type.name.to_string(), data_type.arguments.clone())
}

#[test]
fn data_types_are_reduced_to_the_servers_names() {
    let pairs = [
        ("national character varying(20)", "nvarchar", TypeArguments::One(20)),
        ("char varying(max)", "varchar", TypeArguments::Max),
        ("double precision", "float", TypeArguments::None),
        ("dec(10, 2)", "decimal", TypeArguments::Two(10, 2)),
        ("integer", "int", TypeArguments::None),
        ("national char(3)", "nchar", TypeArguments::One(3)),
        ("binary varying(8)", "varbinary", TypeArguments::One(8)),
        ("NVARCHAR(MAX)", "NVARCHAR", TypeArguments::Max),
        ("dbo.MyType", "dbo.MyType", TypeArguments::None),
    ];
    for (text, name, arguments) in pairs {
        assert_eq!(data_type(text), (name.to_owned(), arguments), "{text}");
    }
    assert!(matches!(data_type("xml(dbo.c)").1, TypeArguments::XmlSchemaCollection(_)));
}

#[test]
fn declare_takes_several_variables_with_values() {
    let StatementKind::Declare(list) = only("DECLARE @a int = 1, @b AS nvarchar(10), @c CURSOR") else {
        panic!()
    };
    assert!(matches!(&list[0], Declaration::Scalar { value: Some(_), .. }));
    assert!(matches!(&list[1], Declaration::Scalar { value: None, .. }));
    assert!(matches!(&list[2], Declaration::Cursor(_)));
    let StatementKind::Declare(list) = only("DECLARE @t TABLE (a int PRIMARY KEY, b xml)") else { panic!() };
    assert!(matches!(&list[0], Declaration::Table { elements, .. } if elements.len() == 2));
}

#[test]
fn set_options_are_one_entry_per_option() {
    let StatementKind::SetOptions(options) = only("SET ANSI_NULLS, quoted_identifier ON") else { panic!() };
    let names: Vec<_> = options
        .iter()
        .map(|option| match option {
            SetOption::Switch { name, on: true } => name.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["ANSI_NULLS", "QUOTED_IDENTIFIER"]);
    assert_eq!(
        only("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED"),
        StatementKind::SetOptions(vec![SetOption::IsolationLevel(IsolationLevel::ReadUncommitted)])
    );
    let StatementKind::SetOptions(options) = only("SET DATEFORMAT dmy") else { panic!() };
    assert_eq!(options, [SetOption::Value { name: "DATEFORMAT".into(), value: Expr::string("dmy") }]);
    assert_eq!(error_number("SET BOGUS ON"), 195);
}

#[test]
fn set_of_a_variable_has_three_forms() {
    let change = |text| match only(text) {
        StatementKind::SetVariable(set) => set.change,
        _ => panic!("{text}"),
    };
    assert!(matches!(change("SET @a += 1"), VariableChange::Assign { .. }));
    assert!(matches!(change("SET @x.modify('delete /a')"), VariableChange::Method { .. }));
    assert!(matches!(change("SET @c = CURSOR FOR SELECT 1"), VariableChange::Cursor(_)));
}

#[test]
fn execute_tells_its_arguments_apart() {
    let StatementKind::Execute(execute) = only("EXEC @rc = dbo.p 1, abc, @b = @x OUTPUT, @c = DEFAULT")
    else {
        panic!()
    };
    assert!(execute.return_variable.is_some());
    assert!(matches!(&execute.target, ExecuteTarget::Procedure(name) if name.parts.len() == 2));
    let arguments = &execute.arguments;
    assert_eq!(arguments[1].value, Some(Expr::string("abc")));
    assert!(arguments[2].output && arguments[2].name.is_some());
    assert_eq!(arguments[3].value, None);
    assert_eq!(error_number("EXEC p @a = 1, 2"), 119);
    assert_eq!(error_number("EXEC p 'x' OUTPUT"), 179);
    assert_eq!(error_number("EXEC p 1 + 1"), 102);
}

#[test]
fn execute_runs_text_and_procedure_variables() {
    let StatementKind::Execute(execute) = only("EXEC (N'a' + @b) AS USER = 'u'") else { panic!() };
    assert!(matches!(&execute.target, ExecuteTarget::Text { principal: Some(user), .. } if !user.login));
    let StatementKind::Execute(execute) = only("EXEC @p @a") else { panic!() };
    assert!(matches!(execute.target, ExecuteTarget::ProcedureVariable(_)));
    assert_eq!(execute.arguments.len(), 1);
}

#[test]
fn transactions_take_names_and_variables() {
    let transaction = |text| match only(text) {
        StatementKind::Transaction(transaction) => transaction,
        _ => panic!("{text}"),
    };
    assert!(matches!(
        transaction("BEGIN TRAN t WITH MARK 'x'"),
        TransactionStatement::Begin { distributed: false, name: Some(TransactionName::Name(_)) }
    ));
    assert!(matches!(
        transaction("ROLLBACK TRANSACTION @n"),
        TransactionStatement::Rollback { name: Some(TransactionName::Variable(_)) }
    ));
    assert_eq!(transaction("COMMIT WORK"), TransactionStatement::Commit { name: None });
    assert_eq!(error_number("SAVE TRAN"), 102);
}

#[test]
fn cursors_keep_options_and_direction() {
    let cursor = |text| match only(text) {
        StatementKind::Cursor(cursor) => *cursor,
        _ => panic!("{text}"),
    };
    let CursorStatement::Declare { definition, .. } =
        cursor("DECLARE c CURSOR LOCAL FAST_FORWARD FOR SELECT a FROM t ORDER BY a")
    else {
        panic!()
    };
    assert_eq!(definition.model, Some(CursorModel::FastForward));
    let CursorStatement::Fetch(fetch) = cursor("FETCH RELATIVE -2 FROM GLOBAL c INTO @a, @b") else {
        panic!()
    };
    assert!(matches!(fetch.direction, FetchDirection::Relative(Expr::Unary { .. })));
    assert!(matches!(fetch.cursor, CursorName::Name { global: true, .. }));
    assert_eq!(fetch.into.len(), 2);
    let CursorStatement::Fetch(fetch) = cursor("FETCH next INTO @a") else { panic!() };
    assert!(matches!(fetch.cursor, CursorName::Name { name, .. } if name.is("next")));
}

#[test]
fn raiserror_and_throw_take_constants_and_variables() {
    let StatementKind::RaiseError(raise) = only("RAISERROR (N'%d', 16, -1, @a, NULL) WITH LOG, NOWAIT")
    else {
        panic!()
    };
    assert_eq!((raise.arguments.len(), raise.log, raise.no_wait, raise.set_error), (2, true, true, false));
    assert_eq!(only("THROW"), StatementKind::Throw(None));
    let StatementKind::Throw(Some(throw)) = only("THROW 50000, @m, 1") else { panic!() };
    assert_eq!(throw.number, Expr::Literal(Literal::Int(50_000)));
    assert_eq!(error_number("RAISERROR ('a' + 'b', 1, 1)"), 102);
}

#[test]
fn return_takes_a_value_only_where_one_follows() {
    let list = statements("IF 1 = 1 RETURN IF 2 = 2 RETURN 5 + 1 RETURN");
    assert_eq!(list.len(), 3);
    assert!(matches!(only("RETURN (1)"), StatementKind::Return(Some(_))));
    assert_eq!(statements("RETURN SELECT 1").len(), 2);
}

#[test]
fn loops_and_labels_are_checked() {
    assert_eq!(error_number("BREAK"), 135);
    assert_eq!(error_number("IF 1 = 1 CONTINUE"), 136);
    assert_eq!(error_number("GOTO x"), 133);
    assert_eq!(error_number("x: X: SELECT 1"), 132);
    assert_eq!(statements("GOTO x; WHILE 1 = 1 BEGIN x: BREAK END").len(), 2);
}
