//! SELECT, INSERT, UPDATE, DELETE, MERGE.

use super::{error_number, only};
use crate::tsql::ast::dml::{DmlFilter, DmlTarget, InsertSource, MergeAction, UpdateAssignment};
use crate::tsql::ast::query::{
    ForClause, JoinKind, QueryBody, QueryOption, Select, SetOperator, TableHint, TableSource, XmlElements,
    XmlMode,
};
use crate::tsql::ast::{SelectItem, SelectStatement, StatementKind};

fn statement(text: &str) -> SelectStatement {
    let StatementKind::Select(select) = only(text) else { panic!("{text}") };
    *select
}

fn select(text: &str) -> Select {
    let QueryBody::Select(select) = statement(text).query.body else { panic!("{text}") };
    *select
}

fn source(text: &str) -> TableSource {
    select(&format!("SELECT * FROM {text}")).from.remove(0)
}

#[test]
fn select_items_come_in_all_forms() {
    let items = select("SELECT *, t.*, a b, c AS 'd', e = f, @v = g, @w += 1, 'x' FROM t").items;
    assert!(matches!(items[0], SelectItem::Wildcard { qualifier: None }));
    assert!(matches!(&items[1], SelectItem::Wildcard { qualifier: Some(name) } if name.parts.len() == 1));
    let aliases: Vec<_> = items[2..5]
        .iter()
        .map(|item| match item {
            SelectItem::Value { alias: Some(alias), .. } => alias.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(aliases, ["b", "d", "e"]);
    assert!(matches!(items[5], SelectItem::Assign { .. }) && matches!(items[6], SelectItem::Assign { .. }));
    assert!(matches!(items[7], SelectItem::Value { alias: None, .. }));
}

#[test]
fn top_takes_a_number_or_parentheses() {
    assert!(select("SELECT TOP 5 a FROM t").top.is_some());
    let top = select("SELECT DISTINCT TOP (@n) PERCENT WITH TIES a FROM t").top.unwrap();
    assert!(top.percent && top.with_ties);
    assert_eq!(error_number("SELECT TOP @n a FROM t"), 102);
}

#[test]
fn set_operators_group_from_the_left_and_intersect_first() {
    let query = statement("SELECT 1 UNION ALL SELECT 2 EXCEPT SELECT 3 INTERSECT SELECT 4 ORDER BY 1").query;
    let QueryBody::SetOperation { op: SetOperator::Except, left, right } = query.body else { panic!() };
    assert!(matches!(*left, QueryBody::SetOperation { op: SetOperator::UnionAll, .. }));
    assert!(matches!(*right, QueryBody::SetOperation { op: SetOperator::Intersect, .. }));
    assert_eq!(query.order_by.len(), 1);
}

#[test]
fn joins_group_from_the_left_unless_on_comes_late() {
    let TableSource::Join { kind: JoinKind::Left, left, .. } =
        source("a JOIN b ON 1 = 1 LEFT OUTER JOIN c ON 2 = 2")
    else {
        panic!()
    };
    assert!(matches!(*left, TableSource::Join { kind: JoinKind::Inner, .. }));
    let TableSource::Join { right, .. } = source("a JOIN b JOIN c ON 1 = 1 ON 2 = 2") else { panic!() };
    assert!(matches!(*right, TableSource::Join { .. }));
    assert!(matches!(
        source("a CROSS APPLY f(a.x) b"),
        TableSource::Join { kind: JoinKind::CrossApply, on: None, .. }
    ));
    assert!(matches!(source("a LOOP JOIN b ON 1 = 1"), TableSource::Join { kind: JoinKind::Inner, .. }));
}

#[test]
fn table_sources_are_told_apart() {
    assert!(matches!(source("@t AS x"), TableSource::Variable { alias: Some(_), .. }));
    assert!(matches!(source("(SELECT 1 a) x (b)"), TableSource::Derived { .. }));
    assert!(matches!(source("(VALUES (1), (2)) x (b)"), TableSource::Values { rows, .. } if rows.len() == 2));
    assert!(matches!(source("dbo.f(1, DEFAULT) x"), TableSource::Function(_)));
    assert!(matches!(source("@x.nodes('/a') AS t(c)"), TableSource::Nodes { .. }));
    assert!(matches!(source("t.c.nodes('/a') AS u(d)"), TableSource::Nodes { .. }));
    let TableSource::Function(function) =
        source("OPENJSON(@j) WITH (a int '$.a', b nvarchar(max) AS JSON) x")
    else {
        panic!()
    };
    assert!(function.schema[1].as_json && function.schema[0].path.is_some());
}

#[test]
fn hints_stand_with_or_without_with() {
    for text in
        ["t WITH (NOLOCK)", "t (NOLOCK)", "t AS x WITH (READUNCOMMITTED)", "t (nolock) x", "t x (NOLOCK)"]
    {
        let TableSource::Table { hints, .. } = source(text) else { panic!("{text}") };
        assert_eq!(hints, [TableHint::NoLock], "{text}");
    }
    let TableSource::Table { hints, .. } = source("t WITH (ROWLOCK, READPAST UPDLOCK, INDEX(1))") else {
        panic!()
    };
    assert_eq!(hints.len(), 4);
    assert_eq!(error_number("SELECT * FROM t WITH (BOGUS)"), 321);
}

#[test]
fn for_xml_keeps_its_directives() {
    let query = statement("SELECT 1 a FOR XML PATH(''), TYPE, ROOT, ELEMENTS XSINIL").query;
    let Some(ForClause::Xml(xml)) = query.for_clause else { panic!() };
    assert_eq!(xml.mode, XmlMode::Path(Some(String::new())));
    assert_eq!(
        (xml.as_type, xml.root.as_deref(), xml.elements),
        (true, Some("root"), Some(XmlElements::XsiNil))
    );
    let query = statement("SELECT 1 a FOR JSON PATH, WITHOUT_ARRAY_WRAPPER").query;
    assert!(
        matches!(query.for_clause, Some(ForClause::Json(json)) if json.path && json.without_array_wrapper)
    );
}

#[test]
fn with_belongs_to_the_statement() {
    let text = "WITH XMLNAMESPACES (DEFAULT 'u', 'v' AS p), c (x) AS (SELECT 1) SELECT x FROM c OPTION (MAXRECURSION 5)";
    let statement = statement(text);
    assert_eq!((statement.with.xml_namespaces.len(), statement.with.tables.len()), (2, 1));
    assert_eq!(statement.options, [QueryOption::MaxRecursion(5)]);
    let StatementKind::Delete(delete) = only("WITH c AS (SELECT TOP (1) * FROM q ORDER BY id) DELETE FROM c")
    else {
        panic!()
    };
    assert_eq!(delete.with.tables.len(), 1);
}

#[test]
fn order_by_needs_a_meaning() {
    assert_eq!(error_number("SELECT * FROM (SELECT 1 a ORDER BY a) x"), 1033);
    assert!(select("SELECT * FROM (SELECT TOP 1 1 a ORDER BY a) x").filter.is_none());
    assert!(select("SELECT (SELECT 1 a ORDER BY a FOR XML PATH)").filter.is_none());
}

#[test]
fn insert_has_four_sources() {
    let insert = |text| match only(text) {
        StatementKind::Insert(insert) => *insert,
        _ => panic!("{text}"),
    };
    let values = insert("INSERT INTO t (a, b) OUTPUT inserted.a INTO @o VALUES (1, DEFAULT), (2, 3)");
    assert_eq!((values.columns.len(), values.output.len()), (2, 1));
    assert!(matches!(values.source, InsertSource::Values(rows) if rows.len() == 2));
    assert!(matches!(insert("INSERT t DEFAULT VALUES").source, InsertSource::DefaultValues));
    assert!(matches!(insert("INSERT t EXEC p 1").source, InsertSource::Execute(_)));
    let query = insert("INSERT t (SELECT 1)");
    assert!(query.columns.is_empty() && matches!(query.source, InsertSource::Query(_)));
    assert!(matches!(insert("INSERT @t SELECT 1").target, DmlTarget::Variable(_)));
}

#[test]
fn update_assigns_columns_variables_and_both() {
    let StatementKind::Update(update) = only(
        "UPDATE TOP (2) t SET a = 1, @v = b = a + 1, @w += 2, c.modify('x') OUTPUT deleted.a FROM t, u WHERE 1 = 1",
    ) else {
        panic!()
    };
    let shapes: Vec<_> = update
        .assignments
        .iter()
        .map(|assignment| match assignment {
            UpdateAssignment::Set { variable, column, .. } => (variable.is_some(), column.is_some()),
            UpdateAssignment::Method { .. } => (false, false),
        })
        .collect();
    assert_eq!(shapes, [(false, true), (true, true), (true, false), (false, false)]);
    assert_eq!((update.from.len(), update.output.len()), (2, 1));
    let StatementKind::Delete(delete) = only("DELETE t WHERE CURRENT OF c") else { panic!() };
    assert!(matches!(delete.filter, Some(DmlFilter::CurrentOf(_))));
}

#[test]
fn merge_reads_its_clauses_and_ends_with_a_semicolon() {
    let text = "MERGE INTO t WITH (HOLDLOCK) AS d USING s ON d.a = s.a WHEN MATCHED AND s.b > 1 THEN UPDATE SET b = 1 \
                WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a) WHEN NOT MATCHED BY SOURCE THEN DELETE OUTPUT $action;";
    let StatementKind::Merge(merge) = only(text) else { panic!() };
    assert_eq!((merge.clauses.len(), merge.output.len()), (3, 1));
    assert!(matches!(merge.clauses[1].action, MergeAction::Insert { .. }));
    assert_eq!(error_number(text.trim_end_matches(';')), 10713);
}
