//! INSERT, UPDATE and DELETE on tables and table variables.

use super::{check, fails};

#[test]
fn inserts_fill_in_what_is_not_given() {
    check(&[
        (
            "CREATE TABLE t(id int identity(10,5), a int DEFAULT 7, b varchar(5)); INSERT t(b) VALUES('x'),('y'); SELECT * FROM t; SELECT SCOPE_IDENTITY()",
            "10|7|x\n15|7|y\n15",
        ),
        (
            "CREATE TABLE t(a int DEFAULT (1+2), d datetime DEFAULT getdate()); INSERT t DEFAULT VALUES; INSERT t VALUES(DEFAULT, NULL); SELECT a, YEAR(d) FROM t",
            "3|2026\n3|NULL",
        ),
        (
            "CREATE TABLE t(a int); INSERT INTO t SELECT x FROM (VALUES(1),(2)) v(x) WHERE x > 1; SELECT a, @@ROWCOUNT FROM t",
            "2|1",
        ),
        (
            "CREATE TABLE t(a uniqueidentifier DEFAULT NEWID(), b char(3)); INSERT t(b) VALUES('a'); SELECT b+'|', CASE WHEN a IS NULL THEN 0 ELSE 1 END FROM t",
            "a  ||1",
        ),
        (
            "CREATE TABLE t(a int, u uniqueidentifier, d datetime2); INSERT t SELECT 1, NULL, NULL; SELECT a, u, d FROM t",
            "1|NULL|NULL",
        ),
        ("CREATE TABLE t(a int); INSERT TOP (1) t VALUES(1),(2); SELECT COUNT(*) FROM t", "1"),
    ]);
    assert_eq!(fails("CREATE TABLE t(a varchar(3)); INSERT t VALUES('abcd')"), 2628);
    assert_eq!(fails("CREATE TABLE t(a int NOT NULL); INSERT t VALUES(NULL)"), 515);
    assert_eq!(fails("CREATE TABLE t(a int primary key); INSERT t VALUES(1),(2),(1)"), 2627);
    assert_eq!(fails("CREATE TABLE t(id int identity, a int); INSERT t(id,a) VALUES(1,1)"), 544);
    assert_eq!(fails("CREATE TABLE t(a int, b int); INSERT t VALUES(1)"), 213);
    assert_eq!(fails("CREATE TABLE t(a int, b int); INSERT t(a) VALUES(1,2)"), 110);
    assert_eq!(fails("CREATE TABLE t(a int, b int); INSERT t(a,b) VALUES(1)"), 109);
    assert_eq!(fails("CREATE TABLE t(a int, b int); INSERT t(a,b) SELECT 1"), 120);
    assert_eq!(fails("CREATE TABLE t(u uniqueidentifier); INSERT t SELECT 1"), 206);
    assert_eq!(fails("CREATE TABLE t(u uniqueidentifier); INSERT t SELECT NULL UNION ALL SELECT NULL"), 206);
    assert_eq!(fails("CREATE TABLE t(a int); INSERT t(x) VALUES(1)"), 207);
    assert_eq!(fails("CREATE TABLE t(a int, a int)"), 2705);
    assert_eq!(fails("INSERT sys.databases(name) VALUES('x')"), 4406);
}

#[test]
fn updates_see_old_values_and_change_every_row_once() {
    check(&[
        (
            "CREATE TABLE t(a int, b int); INSERT t VALUES(1,2); UPDATE t SET a=b, b=a; SELECT a, b FROM t",
            "2|1",
        ),
        (
            "CREATE TABLE t(a int); INSERT t VALUES(5); DECLARE @v int; UPDATE t SET @v=a=a+1; SELECT @v,a FROM t",
            "6|6",
        ),
        (
            "CREATE TABLE t(a int); INSERT t VALUES(1),(2); UPDATE t SET a += 10 WHERE a = 2; SELECT a FROM t",
            "1\n12",
        ),
        (
            "CREATE TABLE a(i int, s varchar(5)); CREATE TABLE b(i int); INSERT a VALUES(1,''),(2,''); INSERT b VALUES(2),(2); UPDATE x SET s='hit' FROM a x JOIN b ON b.i = x.i; SELECT @@ROWCOUNT; SELECT s FROM a ORDER BY i",
            "1\n\nhit",
        ),
        (
            "CREATE TABLE a(i int); CREATE TABLE b(i int); INSERT a VALUES(1),(2); INSERT b VALUES(2); UPDATE a SET i = 9 FROM a q JOIN b ON b.i = q.i; SELECT i FROM a",
            "1\n9",
        ),
        (
            "CREATE TABLE a(i int); CREATE TABLE b(i int); INSERT a VALUES(1),(2); INSERT b VALUES(2); UPDATE a SET i = 9 FROM b WHERE b.i = a.i; SELECT i FROM a",
            "1\n9",
        ),
        (
            "CREATE TABLE t(a int); INSERT t VALUES(0),(0),(0); UPDATE TOP(2) t SET a=1; SELECT @@ROWCOUNT, SUM(a) FROM t",
            "2|2",
        ),
        (
            "CREATE TABLE t(a int primary key); INSERT t VALUES(1),(2); UPDATE t SET a = a + 1; SELECT a FROM t ORDER BY a",
            "2\n3",
        ),
        (
            "CREATE TABLE t(a int primary key, b int); INSERT t VALUES(1,0),(2,0); DECLARE @k int = 2; UPDATE t SET b = 1 WHERE a = @k; SELECT b FROM t ORDER BY a",
            "0\n1",
        ),
        (
            "CREATE TABLE t(a int DEFAULT 4); INSERT t VALUES(1); UPDATE t SET a = DEFAULT; SELECT a FROM t",
            "4",
        ),
    ]);
    assert_eq!(fails("CREATE TABLE t(id int identity); UPDATE t SET id = 1"), 8102);
    assert_eq!(fails("CREATE TABLE t(a int); UPDATE t SET a = 1, a = 2"), 264);
    assert_eq!(fails("CREATE TABLE t(a int NOT NULL); INSERT t VALUES(1); UPDATE t SET a = NULL"), 515);
    assert_eq!(fails("UPDATE nosuch SET a = 1"), 208);
    assert_eq!(fails("UPDATE sys.databases SET name = 'x'"), 4406);
}

#[test]
fn keys_compare_as_their_columns_do() {
    check(&[
        (
            "CREATE TABLE t(a varchar(10) primary key); INSERT t VALUES('Abc'); SELECT COUNT(*) FROM t WHERE a = 'aBC '",
            "1",
        ),
        (
            "CREATE TABLE t(a varchar(9) COLLATE Latin1_General_BIN primary key); INSERT t VALUES('a'),('A'); SELECT COUNT(*) FROM t WHERE a = 'A'",
            "1",
        ),
        (
            "CREATE TABLE t(a varbinary(4) primary key); INSERT t VALUES(0x01); SELECT COUNT(*) FROM t WHERE a = 0x0100",
            "1",
        ),
        (
            "CREATE TABLE t(a int, b int, primary key(a, b)); INSERT t VALUES(1,1),(1,2); DECLARE @n int; SELECT COUNT(*) FROM t WHERE a = 1 AND 2 = b; SELECT COUNT(*) FROM t WHERE a = @n AND b = 1",
            "1\n0",
        ),
    ]);
    let binary = "SELECT 'a' COLLATE Latin1_General_BIN";
    assert_eq!(
        fails(&format!("CREATE TABLE t(a char(1) primary key); INSERT t VALUES('A'); INSERT t {binary}")),
        2627
    );
}

#[test]
fn deletes_take_the_rows_that_match() {
    check(&[
        (
            "CREATE TABLE a(i int); CREATE TABLE b(i int); INSERT INTO a VALUES(1),(2); INSERT INTO b VALUES(2); DELETE a FROM a INNER JOIN b ON a.i = b.i; SELECT i FROM a",
            "1",
        ),
        (
            "CREATE TABLE t(a int); INSERT t VALUES(1),(2),(3); DELETE TOP (1) FROM t; SELECT COUNT(*) FROM t; DELETE t; SELECT @@ROWCOUNT",
            "2\n2",
        ),
        (
            "CREATE TABLE q(id int identity primary key,b varchar(10)); INSERT q(b) VALUES('a'),('b'); WITH c AS (SELECT TOP(1) * FROM q WITH (ROWLOCK, READPAST, UPDLOCK) ORDER BY id) DELETE FROM c OUTPUT deleted.id,deleted.b; SELECT COUNT(*) FROM q",
            "1|a\n1",
        ),
    ]);
}

#[test]
fn updatable_common_table_expressions_reach_their_table() {
    check(&[(
        "CREATE TABLE t(a int, b int); INSERT t VALUES(1,0),(2,0); WITH c AS (SELECT TOP 1 b AS flag, a FROM t ORDER BY a DESC) UPDATE c SET flag = a * 10; SELECT a, b FROM t",
        "1|0\n2|20",
    )]);
    assert_eq!(fails("CREATE TABLE t(a int); WITH c AS (SELECT a+1 AS x FROM t) UPDATE c SET x = 1"), 4406);
    assert_eq!(fails("CREATE TABLE t(a int); WITH c AS (SELECT DISTINCT a FROM t) DELETE c"), 4406);
}

#[test]
fn output_returns_or_stores_old_and_new_values() {
    check(&[
        (
            "CREATE TABLE t(id int identity primary key,a int); INSERT t(a) OUTPUT inserted.id,inserted.a VALUES(10),(20); UPDATE t SET a=a+1 OUTPUT deleted.a,inserted.a WHERE id=2; DELETE t OUTPUT deleted.id",
            "1|10\n2|20\n20|21\n1\n2",
        ),
        (
            "CREATE TABLE t(id int,a int); INSERT t VALUES(1,1),(2,2); DECLARE @o TABLE(id int); DELETE FROM t OUTPUT deleted.id INTO @o WHERE a=2; SELECT id FROM @o",
            "2",
        ),
        (
            "CREATE TABLE t(a int); CREATE TABLE l(x int, y varchar(9) DEFAULT 'd'); INSERT t OUTPUT inserted.a INTO l(x) VALUES(5); SELECT x, y FROM l",
            "5|d",
        ),
        ("CREATE TABLE t(a int); INSERT t VALUES(1); DELETE t OUTPUT deleted.*", "1"),
    ]);
}

#[test]
fn table_variables_are_changed_like_tables() {
    check(&[
        (
            "DECLARE @t TABLE(id int identity, a int); INSERT @t(a) VALUES(5),(6); UPDATE @t SET a = a * 2 WHERE id = 2; DELETE @t WHERE a = 5; SELECT id, a FROM @t",
            "2|12",
        ),
        (
            "DECLARE @t TABLE(a int); INSERT @t VALUES(1),(2); DELETE x FROM @t x WHERE x.a = 1; SELECT a FROM @t",
            "2",
        ),
        ("DECLARE @t TABLE(a int); INSERT @t VALUES(1); SELECT t.a FROM @t t JOIN @t u ON t.a = u.a", "1"),
    ]);
    assert_eq!(fails("DECLARE @t TABLE(a int primary key); INSERT @t VALUES(1),(1)"), 2627);
    assert_eq!(fails("DECLARE @t TABLE(a int NOT NULL); INSERT @t VALUES(NULL)"), 515);
}
