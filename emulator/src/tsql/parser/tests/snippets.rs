//! Snippets that a server accepts or refuses, one per line of two files.
//!
//! The files are the ground on which this parser and Microsoft's agree. With the environment variable
//! `TSQL_CHECK` naming the program `tsql-check`, the files themselves are put to Microsoft's parser.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::tsql::parser::{ParseOptions, parse_batch};

const ACCEPTED: &str = include_str!("accepted.txt");
const REJECTED: &str = include_str!("rejected.txt");

#[test]
fn what_a_server_accepts_parses() {
    for line in ACCEPTED.lines() {
        let result = parse_batch(line, ParseOptions::default());
        assert!(result.is_ok(), "{line}\n{result:?}");
    }
}

#[test]
fn what_a_server_refuses_does_not_parse() {
    for line in REJECTED.lines() {
        assert!(parse_batch(line, ParseOptions::default()).is_err(), "{line}");
    }
}

#[test]
fn microsofts_parser_agrees_with_both_files() {
    let Some(program) = std::env::var_os("TSQL_CHECK") else {
        eprintln!("skipped: TSQL_CHECK does not name Microsoft's parser");
        return;
    };
    let lines: Vec<_> = ACCEPTED.lines().chain(REJECTED.lines()).collect();
    let answers = ask(&program, &lines);
    assert_eq!(answers.len(), lines.len());
    for (line, answer) in lines.iter().zip(&answers) {
        let accepted = answer.contains("\"errors\": []");
        assert_eq!(accepted, ACCEPTED.lines().any(|other| other == *line), "{line}\n{answer}");
    }
}

fn ask(program: &std::ffi::OsStr, lines: &[&str]) -> Vec<String> {
    let mut child = Command::new(program)
        .arg("--json")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("TSQL_CHECK names a program");
    let mut input = child.stdin.take().unwrap();
    let questions: String = lines.iter().map(|line| question(line)).collect();
    let writer = std::thread::spawn(move || input.write_all(questions.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn question(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\t', "\\t");
    format!("{{\"id\": 0, \"sql\": \"{escaped}\"}}\n")
}
