//! Expressions, conversions and functions as SELECT shows them.

use super::{check, fails, run};

#[test]
fn operators_follow_type_precedence() {
    check(&[
        ("SELECT 7/2, -7/2, -7%3", "3|-3|-1"),
        ("SELECT 1+1, 1.5+1, '1'+1, 2-3*4", "2|2.5|2|-10"),
        ("SELECT CAST(1 AS decimal(10,2))/3", "0.333333"),
        ("DECLARE @i int=3; SELECT CAST(1 AS decimal(10,2))/@i", "0.3333333333333"),
        ("SELECT CAST(1.5 AS decimal(5,2))*CAST(2 AS decimal(5,2))", "3.0000"),
        ("SELECT 5 & 3, 5 | 3, 5 ^ 3, ~5", "1|7|6|-6"),
        ("SELECT 'a'+NULL, NULL+1", "NULL|NULL"),
        ("SELECT 0x01 + 0x02", "0x0102"),
        ("SELECT -2147483648, - -1, +'x'", "-2147483648|1|x"),
        ("DECLARE @c char(5)='ab'; SELECT @c+'|', DATALENGTH(@c)", "ab   ||5"),
        ("SELECT CONVERT(varchar(30), CAST('2020-02-28' AS datetime) + 2, 120)", "2020-03-01 00:00:00"),
    ]);
    assert_eq!(fails("SELECT 2147483647+1"), 8115);
    assert_eq!(fails("SELECT 1/0"), 8134);
    assert_eq!(fails("SELECT 'a'+1"), 245);
    assert_eq!(fails("SELECT 'a'-'b'"), 8117);
    assert_eq!(fails("SELECT CAST('20200101' AS date) + 1"), 206);
    assert_eq!(fails("SELECT NEWID()+1"), 206);
}

#[test]
fn conversions_follow_the_table() {
    check(&[
        (
            "SELECT CAST(2.7 AS int), CAST(-2.7 AS int), ROUND(2.5,0), CAST(2.675 AS decimal(5,2))",
            "2|-2|3.0|2.68",
        ),
        ("SELECT CAST(1.23456 AS money), CAST($5 AS varchar(10))", "1.23|5.00"),
        ("SELECT CAST('abc' AS varchar(2)), LEN(CONVERT(varchar,REPLICATE('x',40)))", "ab|30"),
        ("DECLARE @a varchar(3)='abcdef'; SELECT @a", "abc"),
        ("SELECT TRY_CAST('x' AS int), TRY_CONVERT(int, '5')", "NULL|5"),
        (
            "SELECT CAST(0x41424344 AS varchar(10)), CONVERT(varchar(10),0xAB,1), CONVERT(varchar(10),0xAB,2)",
            "ABCD|0xAB|AB",
        ),
        ("SELECT CAST(NULL AS uniqueidentifier)", "NULL"),
        (
            "SELECT CAST(CAST('6f9619ff-8b86-d011-b42d-00c04fc964ff' AS uniqueidentifier) AS varchar(36))",
            "6F9619FF-8B86-D011-B42D-00C04FC964FF",
        ),
        ("DECLARE @x xml = N'<?xml version=\"1.0\"?><a>1</a>'; SELECT CAST(@x AS nvarchar(max))", "<a>1</a>"),
        (
            "DECLARE @a nvarchar(max)=REPLICATE(CAST(N'x' AS nvarchar(max)),10000), @b varbinary(max);
             SET @b=CAST(@a AS varbinary(max)); SELECT LEN(@a), DATALENGTH(@b)",
            "10000|20000",
        ),
    ]);
    assert_eq!(fails("SELECT CAST('abc' AS int)"), 245);
    assert_eq!(fails("SELECT CAST(1 AS uniqueidentifier)"), 529);
    assert_eq!(fails("SELECT CAST('<a>' AS xml)"), 9400);
    assert_eq!(fails("SELECT CAST(1 AS nosuch)"), 2715);
}

#[test]
fn conditions_have_three_values() {
    check(&[
        ("SELECT CASE WHEN 'a'='a  ' THEN 1 ELSE 0 END, CASE WHEN 'A'='a' THEN 1 ELSE 0 END", "1|1"),
        ("SELECT CASE WHEN 'A'='a' COLLATE Latin1_General_BIN THEN 1 ELSE 0 END", "0"),
        (
            "DECLARE @n varchar(5); SELECT ISNULL('a'+@n,'NUL'), CASE WHEN @n=@n THEN 1 ELSE 0 END, CASE WHEN NOT(@n=1) THEN 1 ELSE 0 END",
            "NUL|0|0",
        ),
        ("SELECT CASE WHEN NULL IS NULL THEN 1 END, CASE WHEN 1 NOT IN (2,NULL) THEN 1 ELSE 0 END", "1|0"),
        (
            "SELECT CASE WHEN 5 BETWEEN 1 AND 5 THEN 'in' END, CASE WHEN 'abc' LIKE 'A%' AND 'abc' NOT LIKE '_b' THEN 1 END",
            "in|1",
        ),
        (
            "SELECT CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END, IIF(1=2, 1, 2), CHOOSE(2,'a','b'), NULLIF(1,1)",
            "b|2|b|NULL",
        ),
        ("SELECT CASE WHEN '10%' LIKE '10!%' ESCAPE '!' THEN 1 END", "1"),
        ("SELECT CASE WHEN '2' = 2 THEN 1 END, CASE WHEN N'é' = 'é' THEN 1 END", "1|1"),
    ]);
    assert_eq!(fails("SELECT CASE WHEN 'x' = 1 THEN 1 END"), 245);
    assert_eq!(fails("SELECT CASE WHEN 1=1 THEN NULL END"), 8133);
}

#[test]
fn isnull_takes_the_first_type_and_coalesce_the_highest() {
    check(&[
        ("DECLARE @a varchar(3); SELECT ISNULL(@a,'abcdef'), COALESCE(@a,'abcdef')", "abc|abcdef"),
        ("SELECT COALESCE(NULL, 1, 2.5), ISNULL(NULL, 'x')", "1.0|x"),
    ]);
}

#[test]
fn text_functions_answer_as_documented() {
    check(&[
        ("SELECT LEN('ab  '), DATALENGTH('ab  '), DATALENGTH(N'ab'), LEN(NULL)", "2|4|4|NULL"),
        ("SELECT LEFT('abc',2), RIGHT('abc',2), SUBSTRING('abcd',2,2), SUBSTRING('abc',0,2)", "ab|bc|bc|a"),
        ("SELECT UPPER('aé'), LOWER('AB'), LTRIM('  a'), RTRIM('a  ')+'|', TRIM(' a ')", "AÉ|ab|a|a||a"),
        (
            "SELECT REPLACE('aXbx','x','-'), REPLICATE('ab',3), REVERSE('abc'), '['+SPACE(2)+']'",
            "a-b-|ababab|cba|[  ]",
        ),
        ("SELECT STUFF('abcdef',2,3,'X'), STUFF('abc',9,1,'x'), STUFF('abc',1,1,NULL)", "aXef|NULL|bc"),
        (
            "SELECT CHARINDEX('b','abcb'), CHARINDEX('b','abcb',3), PATINDEX('%c_%','abcb'), CHARINDEX('x','a')",
            "2|4|3|0",
        ),
        ("SELECT ASCII('A'), UNICODE(N'ä'), CHAR(65), NCHAR(228)", "65|228|A|ä"),
        (
            "SELECT QUOTENAME('a]b'), QUOTENAME('x',''''), STR(3.7), STR(3.14159,6,2)",
            "[a]]b]|'x'|         4|  3.14",
        ),
        (
            "SELECT CONCAT('a',NULL,1), CONCAT_WS(',','a',NULL,'b'), TRANSLATE('2*[3]','[]','()')",
            "a1|a,b|2*(3)",
        ),
    ]);
    assert_eq!(fails("SELECT LEFT('a',-1)"), 537);
    assert_eq!(fails("SELECT LEN()"), 174);
    assert_eq!(fails("SELECT NOSUCH(1)"), 195);
    assert_eq!(fails("SELECT dbo.f(1)"), 4121);
    assert_eq!(fails("SELECT FORMAT(1,'N')"), 40510);
}

#[test]
fn date_functions_answer_as_documented() {
    check(&[
        (
            "SELECT DATEDIFF(year,'2019-12-31','2020-01-01'), DATEDIFF(minute,'2020-01-01T00:00:59','2020-01-01T00:01:00')",
            "1|1",
        ),
        (
            "SELECT DATEADD(month,1,CAST('2020-01-31' AS date)), DATEADD(day,-1,CAST('2020-03-01' AS date))",
            "2020-02-29|2020-02-29",
        ),
        (
            "SELECT DATEPART(weekday,'2026-11-29'), DATENAME(weekday,'2026-11-29'), DATENAME(month,'2026-11-29')",
            "1|Sunday|November",
        ),
        (
            "SELECT YEAR('2020-05-06'), MONTH('2020-05-06'), DAY('2020-05-06'), EOMONTH('2020-02-01')",
            "2020|5|6|2020-02-29",
        ),
        (
            "SELECT CONVERT(varchar(30), GETDATE(), 121), CONVERT(varchar(8), SYSUTCDATETIME(), 112)",
            "2026-11-29 12:34:56.790|20261129",
        ),
        (
            "SELECT DATEFROMPARTS(2020,1,2), ISDATE('x'), ISDATE('2020-01-01'), DATEPART(iso_week,'2021-01-04')",
            "2020-01-02|0|1|1",
        ),
        (
            "SELECT CONVERT(varchar(30),DATEADD(ms,3,CAST('2020-01-01' AS datetime)),121), DATEDIFF(week,'2026-11-28','2026-11-29')",
            "2020-01-01 00:00:00.003|1",
        ),
    ]);
    assert_eq!(fails("SELECT DATEADD(nosuch,1,GETDATE())"), 155);
    assert_eq!(fails("SELECT DATEADD(year,9000,GETDATE())"), 517);
}

#[test]
fn mathematical_functions_answer_as_documented() {
    check(&[
        (
            "SELECT ABS(-5), SIGN(-2.5), FLOOR(-1.5), CEILING(1.2), POWER(2,10), SQRT(16)",
            "5|-1.0|-2|2|1024|4",
        ),
        (
            "SELECT ROUND(123.456,1), ROUND(123.456,-2), ROUND(123.456,1,1), ROUND(15,-1)",
            "123.500|100.000|123.400|20",
        ),
        ("SELECT ISNUMERIC('1.5'), ISNUMERIC('x'), CASE WHEN RAND() BETWEEN 0 AND 1 THEN 1 END", "1|0|1"),
    ]);
}

#[test]
fn session_and_catalog_functions_answer() {
    check(&[
        (
            "SELECT DB_NAME(), DB_ID('master'), DB_ID('nosuch'), SUSER_SNAME(), USER_NAME()",
            "tempdb|1|NULL|sa|dbo",
        ),
        (
            "SELECT CURRENT_USER, SYSTEM_USER, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME()",
            "dbo|sa|sa|host|test",
        ),
        (
            "SELECT SERVERPROPERTY('EngineEdition'), SERVERPROPERTY('InstanceName'), SERVERPROPERTY('nosuch')",
            "3|BROKER|NULL",
        ),
        ("SELECT XACT_STATE(), ERROR_NUMBER(), @@ROWCOUNT, SCOPE_IDENTITY()", "0|NULL|0|NULL"),
        (
            "SELECT TYPE_ID('int'), TYPE_NAME(231), SCHEMA_NAME(1), SCHEMA_ID('dbo'), IS_SRVROLEMEMBER('sysadmin')",
            "56|nvarchar|dbo|1|1",
        ),
        (
            "SELECT DATABASEPROPERTYEX('master','Status'), HAS_PERMS_BY_NAME(NULL,'DATABASE','CONNECT'), IS_MEMBER('nosuch')",
            "ONLINE|1|NULL",
        ),
        (
            "CREATE TABLE t(a int, b nvarchar(20)); SELECT OBJECT_NAME(OBJECT_ID('dbo.t')), OBJECT_ID('t','P'), COL_NAME(OBJECT_ID('t'),2), COL_LENGTH('t','b')",
            "t|NULL|b|40",
        ),
    ]);
    assert_ne!(run("SELECT NEWID()"), run("SELECT CAST(0x AS uniqueidentifier)"));
    assert_eq!(fails("SELECT @nosuch"), 137);
    assert_eq!(fails("SELECT foo"), 207);
    assert_eq!(fails("SELECT t.foo"), 4104);
}
