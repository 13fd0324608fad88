//! The support matrix of the README, checked by running its examples.

use std::sync::Arc;

use ssbroker_emulator::instance::Instance;
use ssbroker_emulator::output::{Collected, Event};
use ssbroker_emulator::request::RequestHandler;
use ssbroker_emulator::session::Session;
use ssbroker_emulator::{Clock, CoreOptions, IdSource, LoginId};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Error number of what is not supported.
const UNSUPPORTED: i32 = 40510;
/// What the examples find.
const SET_UP: [&str; 2] = [
    "CREATE DATABASE test",
    "USE test;
     CREATE TABLE dbo.t (id int, s varchar(10)); INSERT INTO dbo.t VALUES (7, 'x');
     CREATE QUEUE AQ; CREATE QUEUE BQ;
     CREATE SERVICE A ON QUEUE AQ ([http://schemas.microsoft.com/SQL/Notifications/PostEventNotification]);
     CREATE SERVICE B ON QUEUE BQ ([DEFAULT]);
     DECLARE @h uniqueidentifier;
     BEGIN DIALOG @h FROM SERVICE A TO SERVICE 'B' WITH ENCRYPTION = OFF;
     SEND ON CONVERSATION @h ('x')",
];

struct Counted(u128);

impl IdSource for Counted {
    fn uuid(&mut self) -> Uuid {
        self.0 += 1;
        Uuid::from_u128((7 << 100) + self.0)
    }
}

async fn errors(session: &mut Session, batch: &str) -> Vec<i32> {
    let mut sink = Collected::default();
    session.batch(batch.to_owned(), &mut sink, &CancellationToken::new()).await;
    let errors = sink.events.iter().filter_map(|event| match event {
        Event::Error(error) => Some(error.number),
        _ => None,
    });
    errors.collect()
}

/// Family, example and level of every row.
fn rows() -> Vec<[&'static str; 3]> {
    let rows =
        include_str!("../README.md").lines().filter(|line| line.starts_with("| ") && line.contains('`'));
    rows.map(|line| {
        let mut cells = line.trim_matches('|').split(" | ").map(str::trim);
        let mut next = || cells.next().unwrap_or_default();
        [next(), next().trim_matches('`'), next()]
    })
    .collect()
}

#[tokio::test]
async fn every_example_does_what_the_matrix_says() {
    let levels = ["exact", "subset", "shim", "unsupported"];
    assert!(rows().len() > 30);
    let mut wrong = Vec::new();
    for [family, example, level] in rows() {
        assert!(levels.contains(&level), "{family}: level {level}");
        let instance = Instance::new(CoreOptions::default(), Clock::real(), Box::new(Counted(0)));
        let mut session = Session::internal(&Arc::clone(&instance), LoginId(1), None, "matrix")
            .expect("sa may enter master");
        for batch in SET_UP {
            assert_eq!(errors(&mut session, batch).await, [], "{batch}");
        }
        let raised = errors(&mut session, example).await;
        let right = if level == "unsupported" { raised.contains(&UNSUPPORTED) } else { raised.is_empty() };
        if !right {
            wrong.push(format!("{family} is {level} and raises {raised:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
