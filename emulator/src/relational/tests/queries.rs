//! SELECT in all its built forms.

use super::{Bench, check, fails, run};

const TABLES: &str = "CREATE TABLE a(id int PRIMARY KEY, name varchar(10)); CREATE TABLE b(a_id int, n int);
    INSERT a VALUES(1,'x'),(2,'y'),(3,NULL); INSERT b VALUES(1,10),(1,20),(2,30),(9,90);";

fn with_tables(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let mut bench = Bench::new();
        bench.run(TABLES).unwrap();
        assert_eq!(bench.run(text).unwrap_or_else(|error| error.to_string()), *expected, "{text}");
    }
}

#[test]
fn columns_of_the_outer_side_of_a_join_may_be_null() {
    for (join, first, second) in
        [("JOIN", 0, 0), ("LEFT JOIN", 0, 1), ("RIGHT JOIN", 1, 0), ("FULL JOIN", 1, 1)]
    {
        let text = format!(
            "CREATE TABLE l(i int NOT NULL); CREATE TABLE r(i int NOT NULL); SELECT l.i AS a, r.i AS b INTO t FROM l {join} r \
             ON l.i = r.i; SELECT COLUMNPROPERTY(OBJECT_ID('t'), 'a', 'AllowsNull'), COLUMNPROPERTY(OBJECT_ID('t'), 'b', \
             'AllowsNull')"
        );
        assert_eq!(run(&text), format!("{first}|{second}"), "{join}");
    }
}

#[test]
fn joins_match_and_pad() {
    with_tables(&[
        ("SELECT a.id, b.n FROM a JOIN b ON a.id = b.a_id ORDER BY b.n", "1|10\n1|20\n2|30"),
        (
            "SELECT a.id, b.n FROM a LEFT JOIN b ON a.id = b.a_id AND b.n > 10 ORDER BY a.id, n",
            "1|20\n2|30\n3|NULL",
        ),
        ("SELECT a.id, b.n FROM a RIGHT JOIN b ON a.id = b.a_id WHERE a.id IS NULL", "NULL|90"),
        ("SELECT COUNT(*) FROM a FULL JOIN b ON a.id = b.a_id", "5"),
        ("SELECT COUNT(*) FROM a CROSS JOIN b", "12"),
        ("SELECT COUNT(*) FROM a, b WHERE a.id = b.a_id", "3"),
        (
            "SELECT x.id, y.n FROM a x CROSS APPLY (SELECT TOP 1 n FROM b WHERE b.a_id = x.id ORDER BY n DESC) y ORDER BY 1",
            "1|20\n2|30",
        ),
        (
            "SELECT x.id, y.n FROM a x OUTER APPLY (SELECT n FROM b WHERE b.a_id = x.id AND n > 15) y ORDER BY id",
            "1|20\n2|30\n3|NULL",
        ),
        ("SELECT COUNT(*) FROM a JOIN b ON a.id < b.n JOIN a c ON c.id = a.id", "12"),
    ]);
}

/// From the second row on the subquery's values are a set, which has to answer as its rows would.
#[test]
fn in_and_not_in_a_query_are_the_same_for_the_first_row_and_the_others() {
    let values = "(VALUES(3),(1),(2),(NULL),(3)) v(x)";
    let null_too = "(VALUES(1),(NULL)) w(y)";
    with_tables(&[
        (&format!("SELECT COUNT(*) FROM {values} WHERE x IN (SELECT a_id FROM b)"), "2"),
        (&format!("SELECT COUNT(*) FROM {values} WHERE x NOT IN (SELECT a_id FROM b)"), "2"),
        (&format!("SELECT COUNT(*) FROM {values} WHERE x <> ALL (SELECT a_id FROM b)"), "2"),
        (&format!("SELECT COUNT(*) FROM {values} WHERE x <> ANY (SELECT a_id FROM b)"), "4"),
        (&format!("SELECT COUNT(*) FROM {values} WHERE x IN (SELECT y FROM {null_too})"), "1"),
        (&format!("SELECT COUNT(*) FROM {values} WHERE x NOT IN (SELECT y FROM {null_too})"), "0"),
        (&format!("SELECT COUNT(*) FROM {values} WHERE x NOT IN (SELECT a_id FROM b WHERE n < 0)"), "5"),
        (&format!("SELECT COUNT(*) FROM {values} WHERE x IN (SELECT a_id FROM b WHERE n > x * 9)"), "2"),
        (
            "SELECT COUNT(*) FROM (VALUES('A '),('b'),('c')) v(x) WHERE x IN (SELECT y FROM (VALUES('a'),('B')) w(y))",
            "2",
        ),
        (
            "SELECT COUNT(*) FROM (VALUES(2),(1)) v(x) WHERE x IN (SELECT y FROM (VALUES('01'),('3')) w(y))",
            "1",
        ),
        (
            "SELECT COUNT(*) FROM (VALUES(1),(1)) v(x) WHERE x IN (SELECT y FROM (VALUES('1'),('no')) w(y))",
            "2",
        ),
    ]);
}

#[test]
fn grouping_and_aggregates_skip_null() {
    with_tables(&[
        (
            "SELECT a_id, COUNT(*), SUM(n), MIN(n), MAX(n), AVG(n) FROM b GROUP BY a_id ORDER BY a_id",
            "1|2|30|10|20|15\n2|1|30|30|30|30\n9|1|90|90|90|90",
        ),
        ("SELECT COUNT(*), COUNT(name), COUNT(DISTINCT id % 2) FROM a", "3|2|2"),
        ("SELECT a_id FROM b GROUP BY a_id HAVING COUNT(*) > 1", "1"),
        ("SELECT SUM(n), COUNT(*) FROM b WHERE n > 1000", "NULL|0"),
        ("SELECT a_id % 2, SUM(n) FROM b GROUP BY a_id % 2 ORDER BY SUM(n) DESC", "1|120\n0|30"),
        ("SELECT STRING_AGG(name, ',') WITHIN GROUP (ORDER BY id DESC) FROM a", "y,x"),
        ("SELECT MAX(n) - MIN(n) + 1 FROM b", "81"),
        (
            "SELECT id, (SELECT SUM(n) FROM b WHERE b.a_id = a.id) FROM a GROUP BY id ORDER BY id",
            "1|30\n2|30\n3|NULL",
        ),
        ("SELECT AVG(CAST(n AS decimal(10,2))), VARP(n) FROM b WHERE a_id = 1", "15.000000|25"),
    ]);
    assert_eq!(fails("CREATE TABLE t(a int, b int); SELECT a, COUNT(*) FROM t"), 8120);
    assert_eq!(fails("CREATE TABLE t(a int, b int); SELECT a FROM t WHERE COUNT(*) > 1"), 147);
    assert_eq!(fails("SELECT SUM(x) FROM (VALUES('a')) v(x)"), 8117);
}

#[test]
fn rows_are_sorted_cut_and_made_distinct() {
    with_tables(&[
        ("SELECT TOP 2 n FROM b ORDER BY n DESC", "90\n30"),
        ("SELECT TOP (50) PERCENT n FROM b ORDER BY n", "10\n20"),
        ("SELECT TOP 1 WITH TIES a_id FROM b ORDER BY a_id", "1\n1"),
        ("SELECT n FROM b ORDER BY n OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY", "20\n30"),
        ("SELECT DISTINCT a_id FROM b ORDER BY a_id DESC", "9\n2\n1"),
        ("SELECT name AS label FROM a ORDER BY label", "NULL\nx\ny"),
        ("SELECT id FROM a ORDER BY name DESC, id", "2\n1\n3"),
        ("SELECT id, name FROM a ORDER BY 2 DESC", "2|y\n1|x\n3|NULL"),
        ("SELECT TOP 0 id FROM a", ""),
    ]);
    assert_eq!(fails("CREATE TABLE t(a int, b int); SELECT DISTINCT a FROM t ORDER BY b"), 145);
    assert_eq!(fails("SELECT 1 AS a ORDER BY 2"), 108);
    assert_eq!(fails("SELECT TOP (-1) 1"), 1060);
}

#[test]
fn subqueries_see_the_row_around_them() {
    with_tables(&[
        ("SELECT id FROM a WHERE EXISTS (SELECT 1/0 FROM b WHERE b.a_id = a.id)", "1\n2"),
        ("SELECT id FROM a WHERE id IN (SELECT a_id FROM b)", "1\n2"),
        ("SELECT id FROM a WHERE id NOT IN (SELECT a_id FROM b) ", "3"),
        ("SELECT id, (SELECT MAX(n) FROM b WHERE a_id = id) FROM a", "1|20\n2|30\n3|NULL"),
        ("SELECT id FROM a WHERE id >= ALL (SELECT id FROM a)", "3"),
        ("SELECT id FROM a WHERE id = ANY (SELECT a_id FROM b WHERE n > 15)", "1\n2"),
        ("SELECT (SELECT TOP 1 name FROM a ORDER BY id)", "x"),
        (
            "SELECT COUNT(*) FROM a WHERE NOT EXISTS (SELECT * FROM b WHERE n > (SELECT AVG(n) FROM b) AND a_id = a.id)",
            "3",
        ),
    ]);
    assert_eq!(fails("SELECT (SELECT x FROM (VALUES(1),(2)) v(x))"), 512);
    assert_eq!(fails("SELECT (SELECT 1, 2)"), 116);
    assert_eq!(run("SELECT COUNT(*) FROM (VALUES(1),(2)) v(x) WHERE x NOT IN (3,NULL)"), "0");
}

#[test]
fn queries_combine() {
    check(&[
        ("SELECT 1 UNION SELECT 1 UNION SELECT 2", "1\n2"),
        ("SELECT 1 UNION ALL SELECT 1", "1\n1"),
        ("SELECT x FROM (VALUES(1),(2),(2)) v(x) EXCEPT SELECT 1", "2"),
        ("SELECT x FROM (VALUES(1),(2)) v(x) INTERSECT SELECT 2.0", "2.0"),
        ("SELECT 2 AS a UNION ALL SELECT 1 ORDER BY a", "1\n2"),
        ("SELECT 1 AS a UNION ALL SELECT NULL", "1\nNULL"),
        (
            "WITH c AS (SELECT 1 AS x UNION ALL SELECT 2), d(y) AS (SELECT x+1 FROM c) SELECT SUM(y) FROM d",
            "5",
        ),
        ("SELECT d.s FROM (SELECT 'a' AS s) d", "a"),
        ("SELECT * FROM (VALUES(1,'a'),(2,NULL)) v(i,s)", "1|a\n2|NULL"),
    ]);
    assert_eq!(fails("SELECT 1 UNION SELECT 1, 2"), 205);
    assert_eq!(fails("WITH c AS (SELECT 1 AS x UNION ALL SELECT x+1 FROM c) SELECT x FROM c"), 40510);
    assert_eq!(fails("SELECT * FROM (SELECT 1) d"), 8155);
}

#[test]
fn assignment_keeps_the_last_row_or_the_old_value() {
    with_tables(&[
        ("DECLARE @x int=9; SELECT @x=id FROM a WHERE 1=0; SELECT @x", "9"),
        ("DECLARE @x int=9; SELECT @x=id FROM a ORDER BY id; SELECT @x, @@ROWCOUNT", "3|3"),
        (
            "DECLARE @s varchar(50)=''; SELECT @s = @s + ISNULL(name,'-') FROM a ORDER BY id DESC; SELECT @s",
            "-yx",
        ),
        ("DECLARE @a int, @b int; SELECT @a = 1, @b = 2; SELECT @a + @b", "3"),
        ("DECLARE @n int; SELECT @n = COUNT(*) FROM a; SELECT @n", "3"),
        (
            "DECLARE @n int, @k int; SELECT @n = SUM(n), @k = a_id FROM b GROUP BY a_id ORDER BY SUM(n); SELECT @n, @k",
            "90|9",
        ),
        ("DECLARE @x int=9; SET @x=(SELECT id FROM a WHERE 1=0); SELECT ISNULL(@x,-1)", "-1"),
        ("DECLARE @x int; SELECT TOP 1 @x = id FROM a ORDER BY id DESC; SELECT @x", "3"),
    ]);
    assert_eq!(fails("DECLARE @a int; SELECT @a = 1, 2"), 141);
}

#[test]
fn identifiers_sort_by_their_last_bytes() {
    let rows = run("SELECT a FROM (VALUES
        (CAST('00000000-0000-0000-0000-000000000001' AS uniqueidentifier)),
        (CAST('01000000-0000-0000-0000-000000000000' AS uniqueidentifier)),
        (CAST('00000000-0000-0000-0000-010000000000' AS uniqueidentifier)),
        (CAST('00000000-0000-0000-0100-000000000000' AS uniqueidentifier))) v(a) ORDER BY a");
    let expected = [
        "01000000-0000-0000-0000-000000000000",
        "00000000-0000-0000-0100-000000000000",
        "00000000-0000-0000-0000-000000000001",
        "00000000-0000-0000-0000-010000000000",
    ];
    assert_eq!(rows, expected.join("\n"));
}

#[test]
fn names_are_checked_even_without_rows() {
    assert_eq!(fails("SELECT * FROM nosuch"), 208);
    assert_eq!(fails("SELECT * FROM @nosuch"), 1087);
    assert_eq!(fails("CREATE TABLE t(a int); SELECT b FROM t"), 207);
    assert_eq!(fails("CREATE TABLE t(a int); SELECT x.* FROM t"), 107);
    assert_eq!(fails("CREATE TABLE t(a int); SELECT a FROM t, t"), 1011);
    assert_eq!(fails("CREATE TABLE t(a int); SELECT a FROM t x, t y"), 209);
}

#[test]
fn select_into_makes_a_table() {
    assert_eq!(run("SELECT 1 AS a, 'x' AS b INTO t; SELECT b, a FROM t"), "x|1");
}

#[test]
fn catalog_views_are_read_like_tables() {
    assert_eq!(run("SELECT name FROM sys.databases WHERE name = 'MASTER'"), "master");
    assert_eq!(run("SELECT COUNT(*) FROM master.sys.databases d WHERE d.name IN ('master','tempdb')"), "2");
}
