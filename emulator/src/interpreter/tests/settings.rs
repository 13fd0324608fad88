//! SET options and what they change.

use super::support::{Server, run};
use crate::output::{Collected, Event};
use crate::request::RequestHandler;

#[tokio::test]
async fn the_lists_of_drivers_run() {
    let tedious = "set ansi_nulls on
set ansi_null_dflt_on on
set ansi_padding on
set ansi_warnings on
set arithabort on
set concat_null_yields_null on
set cursor_close_on_commit off
set datefirst 7
set dateformat mdy
set implicit_transactions off
set language us_english
set numeric_roundabort off
set quoted_identifier on
set textsize 2147483647
set xact_abort off";
    let free_tds = "SET ARITHABORT ON;SET CONCAT_NULL_YIELDS_NULL ON;SET ANSI_NULLS ON;SET ANSI_NULL_DFLT_ON ON;
SET ANSI_PADDING ON;SET ANSI_WARNINGS ON;SET CURSOR_CLOSE_ON_COMMIT ON;SET QUOTED_IDENTIFIER ON;SET TEXTSIZE 2147483647";
    assert_eq!(run(tedious).await, [""; 0]);
    assert_eq!(run(free_tds).await, [""; 0]);
}

#[tokio::test]
async fn use_changes_the_database_at_once_and_for_later_batches() {
    let mut client = Server::start().client();
    client.run("CREATE DATABASE d").await;
    let answers = client.run("USE [D]; SELECT DB_NAME()").await;
    assert_eq!(answers, ["DATABASE d", "INFO 5701 Changed database context to 'd'.", "d"]);
    assert_eq!(client.run("SELECT DB_NAME()").await, ["d"]);
    assert_eq!(client.run("USE nowhere; SELECT DB_NAME()").await, ["ERR 911", "d"]);
}

#[tokio::test]
async fn nocount_takes_counts_away_but_not_rowcount() {
    let events = Server::start().client().events("SET NOCOUNT ON; SELECT 1; SELECT @@ROWCOUNT").await;
    assert!(events.iter().all(|event| !matches!(event, Event::StatementDone { count: Some(_), .. })));
    assert!(events.contains(&Event::Row(vec![crate::value::Value::Int(1)])));
}

#[tokio::test]
async fn settings_made_in_dynamic_batches_end_with_them() {
    assert_eq!(
        run("EXEC('SET LOCK_TIMEOUT 5; SELECT @@LOCK_TIMEOUT'); SELECT @@LOCK_TIMEOUT").await,
        ["5", "-1"]
    );
}

#[tokio::test]
async fn a_reset_rolls_back_and_restores_options_and_database() {
    let server = Server::start();
    let mut client = server.client();
    client.run("CREATE DATABASE d").await;
    client.run("USE d; SET XACT_ABORT ON; BEGIN TRAN").await;
    let mut sink = Collected::default();
    client.session.reset(false, &mut sink).await;
    assert!(matches!(sink.events.first(), Some(Event::Change(crate::output::Change::Reset))));
    assert_eq!(client.run("SELECT DB_NAME(), @@TRANCOUNT, @@OPTIONS & 16384").await, ["master|0|0"]);
    client.run("BEGIN TRAN").await;
    client.session.reset(true, &mut sink).await;
    assert_eq!(client.run("SELECT @@TRANCOUNT").await, ["1"]);
}
