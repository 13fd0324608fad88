//! Logging in, and being refused.

use super::support::{Server, line};
use crate::output::Collected;
use crate::request::{LoginHandler, LoginRequest};
use crate::session::Logins;

fn request(password: &str, database: &str) -> LoginRequest {
    let (password, database) = (password.to_owned(), database.to_owned());
    LoginRequest { user: "sa".to_owned(), password, database, ..LoginRequest::default() }
}

#[tokio::test]
async fn a_login_is_told_its_database() {
    let logins = Logins::new(Server::start().instance);
    let mut sink = Collected::default();
    let session = logins.login(request("secret", "tempdb"), &mut sink).await.unwrap();
    assert_eq!(session.database(), "tempdb");
    let told: Vec<_> = sink.events.iter().filter_map(line).collect();
    assert_eq!(told, ["DATABASE tempdb", "INFO 5701 Changed database context to 'tempdb'."]);
}

#[tokio::test]
async fn a_wrong_password_and_a_missing_database_are_refused() {
    let logins = Logins::new(Server::start().instance);
    let mut sink = Collected::default();
    let refused = logins.login(request("guess", ""), &mut sink).await.unwrap_err();
    assert_eq!((refused.number, refused.severity), (18456, 14));
    assert_eq!(logins.login(request("secret", "nowhere"), &mut sink).await.unwrap_err().number, 4060);
}
