//! Paths over small documents, and what the methods make of them.

use super::{Namespaces, XmlMethod, apply, nodes, parse_path, require_singleton};
use crate::value::{Length, SqlType, Text, Value};

const ERROR: &str = "<Error xmlns=\"http://schemas.microsoft.com/SQL/ServiceBroker/Error\"><Code>-8425</Code>\
                     <Description>no such service</Description></Error>";

fn xml(text: &str) -> Value {
    Value::Xml(Text::unicode(text))
}

fn found(text: &str, path: &str) -> String {
    let path = parse_path(path, &Namespaces::default()).unwrap();
    let ty = SqlType::NVarChar(Length::Max);
    match apply(&XmlMethod::Value(ty), &path, &xml(text)).unwrap() {
        Value::Text(text) => text.to_string(),
        Value::Null => "NULL".to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn paths_find_what_they_say() {
    let text = "<a i='1'><b k='x'>one</b><b k='y'>two<c/></b></a><a i='2'/>";
    for (path, expected) in [
        ("(/a/b)[1]", "one"),
        ("(/a/b)[last()]", "two"),
        ("(/a/@i)[2]", "2"),
        ("(//b[@k=\"y\"])[1]", "two"),
        ("(//b[@k!='y']/text())[1]", "one"),
        ("(/a/b[2])[1]", "two"),
        ("(/a[b]/@i)[1]", "1"),
        ("(/a/b[c]/@k)[1]", "y"),
        ("(/a/*/@*)[1]", "x"),
        ("(//c/../@k)[1]", "y"),
        ("(a/b)[1]", "one"),
        ("(/nothing)[1]", "NULL"),
        ("(/)[1]", "onetwo"),
    ] {
        assert_eq!(found(text, path), expected, "{path}");
    }
}

#[test]
fn namespaces_are_those_declared() {
    let with_prefix =
        "declare namespace e = 'http://schemas.microsoft.com/SQL/ServiceBroker/Error'; (/e:Error/e:Code)[1]";
    assert_eq!(found(ERROR, with_prefix), "-8425");
    let default = "declare default element namespace \"http://schemas.microsoft.com/SQL/ServiceBroker/Error\"; \
                   (/Error/Description)[1]";
    assert_eq!(found(ERROR, default), "no such service");
    assert_eq!(found(ERROR, "(/*:Error/*:Code)[1]"), "-8425");
    assert_eq!(found(ERROR, "(/Error/Code)[1]"), "NULL");
    assert_eq!(parse_path("/e:Error", &Namespaces::default()).unwrap_err().number, 2229);
}

#[test]
fn value_needs_a_path_to_one_node() {
    let is_single =
        |path: &str| require_singleton(&parse_path(path, &Namespaces::default()).unwrap()).is_ok();
    for path in ["(/a/b)[1]", "@id", ".", "a[1]/b[1]", "a[1]/@id"] {
        assert!(is_single(path), "{path}");
    }
    for path in ["/a/b", "//b[1]", "a/@id", "a[b]"] {
        assert!(!is_single(path), "{path}");
    }
}

#[test]
fn nodes_give_rows_that_relative_paths_start_from() {
    let path = parse_path("/a/b", &Namespaces::default()).unwrap();
    let rows = nodes(&path, &xml("<a><b id='1'><c>x</c></b><b id='2'/></a>")).unwrap();
    let read = |path: &str| -> Vec<String> {
        let path = parse_path(path, &Namespaces::default()).unwrap();
        let method = XmlMethod::Value(SqlType::NVarChar(Length::Max));
        rows.iter().map(|row| format!("{:?}", apply(&method, &path, row).unwrap().is_null())).collect()
    };
    assert_eq!(rows.len(), 2);
    assert_eq!(read("@id"), ["false", "false"]);
    assert_eq!(read("(c)[1]"), ["false", "true"]);
    assert_eq!(read("(./c/text())[1]"), ["false", "true"]);
}

#[test]
fn query_keeps_markup_and_namespaces() {
    let path = parse_path("/*:a/*:b", &Namespaces::default()).unwrap();
    let text = "<p:a xmlns:p='u' xmlns='d'><b k='1 &lt; 2'>x<c/></b></p:a>";
    let Value::Xml(written) = apply(&XmlMethod::Query, &path, &xml(text)).unwrap() else { panic!() };
    assert_eq!(written.to_string(), "<b xmlns:p=\"u\" xmlns=\"d\" k=\"1 &lt; 2\">x<c/></b>");
}

#[test]
fn other_xquery_is_refused_by_name() {
    for text in ["count(/a)", "for $x in /a return $x", "/a[b > 1]", "sql:variable(\"@x\")", "/a/child::b"] {
        assert_eq!(parse_path(text, &Namespaces::default()).unwrap_err().number, 40510, "{text}");
    }
}
