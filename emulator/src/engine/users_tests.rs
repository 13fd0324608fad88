//! Creating, changing and dropping logins, users and roles.

use super::UserFor;
use crate::engine::core::Core;
use crate::engine::definitions::{Secret, User, UserKind};
use crate::engine::ids::FoldedName;
use crate::engine::logins::LoginChange;
use crate::engine::testing::{core, done, fails, open, session};

fn user<'a>(core: &'a Core, name: &str) -> Option<&'a User> {
    core.state().database_by_name("db")?.users.find(&FoldedName::new(name)).map(|user| &**user)
}

#[test]
fn a_login_has_one_user_per_database() {
    let mut core = core();
    let one = session(&mut core);
    done(&mut core, one, |tx| tx.create_login("ann", Secret::new("p"), None));
    assert_eq!(fails(&mut core, one, |tx| tx.create_login("Ann", Secret::new("p"), None)), 15025);
    done(&mut core, one, |tx| tx.create_user("first", &UserFor::Login("ann".to_string()), None));
    let again = UserFor::Login("ann".to_string());
    assert_eq!(fails(&mut core, one, |tx| tx.create_user("second", &again, None)), 15063);
    assert_eq!(fails(&mut core, one, |tx| tx.create_user("First", &UserFor::NoLogin, None)), 15023);
    assert_eq!(fails(&mut core, one, |tx| tx.create_user("ghost", &UserFor::SameName, None)), 15151);
    done(&mut core, one, |tx| tx.create_user("free", &UserFor::NoLogin, None));
    assert_eq!(user(&core, "free").map(|user| user.kind), Some(UserKind::WithoutLogin));
}

#[test]
fn users_are_renamed_and_dropped_but_not_the_built_in_ones() {
    let mut core = core();
    let one = session(&mut core);
    done(&mut core, one, |tx| tx.create_user("u", &UserFor::NoLogin, None));
    assert_eq!(fails(&mut core, one, |tx| tx.alter_user("u", Some("guest"), None, None)), 15023);
    done(&mut core, one, |tx| tx.alter_user("u", Some("v"), Some("sys"), None));
    assert!(user(&core, "u").is_none() && &*user(&core, "v").unwrap().default_schema == "sys");
    done(&mut core, one, |tx| tx.drop_user("v"));
    assert_eq!(fails(&mut core, one, |tx| tx.drop_user("v")), 15151);
    assert_eq!(fails(&mut core, one, |tx| tx.drop_user("dbo")), 15150);
    assert_eq!(fails(&mut core, one, |tx| tx.drop_role("db_owner")), 15150);
}

#[test]
fn special_principals_join_no_role() {
    let mut core = core();
    let one = session(&mut core);
    assert_eq!(fails(&mut core, one, |tx| tx.alter_role("db_owner", "dbo", true)), 15150);
    assert_eq!(fails(&mut core, one, |tx| tx.alter_role("public", "guest", true)), 15150);
    assert_eq!(fails(&mut core, one, |tx| tx.alter_role("nosuch", "guest", true)), 15151);
    assert_eq!(fails(&mut core, one, |tx| tx.alter_server_role("sysadmin", "sa", false)), 15150);
}

#[test]
fn others_than_administrators_change_their_own_password_only() {
    let mut core = core();
    let one = session(&mut core);
    for login in ["ann", "bob"] {
        done(&mut core, one, |tx| tx.create_login(login, Secret::new("p"), None));
        done(&mut core, one, |tx| tx.create_user(login, &UserFor::SameName, None));
    }
    let ann = core.verify_login("ann", "p").unwrap();
    let two = open(&mut core, ann, "db").unwrap();
    let password = || LoginChange { password: Some(Secret::new("new")), ..LoginChange::default() };
    done(&mut core, two, |tx| tx.alter_login("ann", password()));
    assert!(core.verify_login("ann", "new").is_ok());
    assert_eq!(fails(&mut core, two, |tx| tx.alter_login("bob", password())), 15151);
    assert_eq!(fails(&mut core, two, |tx| tx.create_login("x", Secret::new("p"), None)), 15247);
    assert_eq!(fails(&mut core, two, |tx| tx.drop_user("bob")), 15151);
    assert_eq!(fails(&mut core, two, |tx| tx.alter_role("db_owner", "ann", true)), 15151);
}

#[test]
fn a_sysadmin_login_is_dbo_everywhere_from_then_on() {
    let mut core = core();
    let one = session(&mut core);
    done(&mut core, one, |tx| tx.create_login("ann", Secret::new("p"), None));
    let ann = core.verify_login("ann", "p").unwrap();
    assert_eq!(open(&mut core, ann, "db").unwrap_err().number, 4060);
    done(&mut core, one, |tx| tx.alter_server_role("SYSADMIN", "ann", true));
    let two = open(&mut core, ann, "db").unwrap();
    assert_eq!(core.principal(two).user, User::DBO);
    done(&mut core, two, |tx| tx.create_database("hers"));
    assert_eq!(fails(&mut core, one, |tx| tx.drop_login("ann")), 15174);
    done(&mut core, one, |tx| tx.set_database_owner("hers", "sa"));
    done(&mut core, one, |tx| tx.drop_login("ann"));
    assert!(core.verify_login("ann", "p").is_err());
}
