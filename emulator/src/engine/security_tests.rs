//! Who may do what.

use crate::engine::core::Core;
use crate::engine::definitions::{Permission, Secret, Securable, User};
use crate::engine::grants::GrantAction;
use crate::engine::ids::{DatabaseId, NumericId, ObjectKey, SchemaId, SessionId};
use crate::engine::objects::ObjectName;
use crate::engine::testing::{START, call, core, done, fails, open, session};
use crate::engine::users::UserFor;
use crate::engine::{definitions::TableDef, ids::PrincipalId};

const DB: DatabaseId = DatabaseId(5);
const WHOLE: Securable = Securable::Database(DB);

/// A session of sa, one of `ann`, who has nothing but a user, and the table `dbo.t`.
fn scene(core: &mut Core) -> (SessionId, SessionId, Securable) {
    let admin = session(core);
    done(core, admin, |tx| tx.create_login("ann", Secret::new("p"), None));
    done(core, admin, |tx| tx.create_user("ann", &UserFor::SameName, None));
    let ObjectKey { database, object } =
        done(core, admin, |tx| tx.create_table(&ObjectName::plain("t"), TableDef::default()));
    let login = core.verify_login("ann", "p").unwrap();
    let ann = open(core, login, "db").unwrap();
    (admin, ann, Securable::Object(database, object))
}

fn may(core: &mut Core, session: SessionId, permission: Permission, securable: Securable) -> bool {
    done(core, session, |tx| Ok(tx.has_permission(permission, securable)))
}

fn change(
    core: &mut Core,
    admin: SessionId,
    action: GrantAction,
    permission: Permission,
    on: Securable,
    to: &str,
) {
    done(core, admin, |tx| tx.change_permissions(action, &[permission], on, &[to]));
}

#[test]
fn a_plain_user_has_only_what_was_granted() {
    let mut core = core();
    let (admin, ann, table) = scene(&mut core);
    assert!(!may(&mut core, ann, Permission::Receive, table));
    assert_eq!(fails(&mut core, ann, |tx| Ok(tx.require(Permission::Receive, table)?)), 229);
    change(&mut core, admin, GrantAction::Grant, Permission::Receive, table, "ann");
    assert!(may(&mut core, ann, Permission::Receive, table));
    assert!(!may(&mut core, ann, Permission::Select, table));
    change(&mut core, admin, GrantAction::Revoke, Permission::Receive, table, "ann");
    assert!(!may(&mut core, ann, Permission::Receive, table));
}

#[test]
fn a_denial_beats_grants_from_roles_and_containers() {
    let mut core = core();
    let (admin, ann, table) = scene(&mut core);
    done(&mut core, admin, |tx| tx.create_role("readers", None));
    done(&mut core, admin, |tx| tx.alter_role("readers", "ann", true));
    change(
        &mut core,
        admin,
        GrantAction::Grant,
        Permission::Select,
        Securable::Schema(DB, SchemaId(1)),
        "readers",
    );
    assert!(may(&mut core, ann, Permission::Select, table));
    change(&mut core, admin, GrantAction::Deny, Permission::Select, table, "public");
    assert!(!may(&mut core, ann, Permission::Select, table));
    assert!(may(&mut core, admin, Permission::Select, table), "dbo is not denied");
    change(&mut core, admin, GrantAction::Revoke, Permission::Select, table, "public");
    done(&mut core, admin, |tx| tx.drop_role("readers"));
    assert!(!may(&mut core, ann, Permission::Select, table));
}

#[test]
fn control_covers_the_rest_and_containers_cover_their_content() {
    let mut core = core();
    let (admin, ann, table) = scene(&mut core);
    change(&mut core, admin, GrantAction::Grant, Permission::Control, table, "ann");
    assert!(may(&mut core, ann, Permission::Receive, table) && may(&mut core, ann, Permission::Alter, table));
    assert!(!may(&mut core, ann, Permission::Receive, Securable::Schema(DB, SchemaId(1))));
    change(&mut core, admin, GrantAction::Grant, Permission::Alter, WHOLE, "ann");
    assert!(may(&mut core, ann, Permission::CreateQueue, WHOLE));
    assert!(may(&mut core, ann, Permission::AlterAnyService, WHOLE));
    assert!(!may(&mut core, ann, Permission::Select, WHOLE));
}

#[test]
fn ddl_administrators_make_queues_but_do_not_receive_from_them() {
    let mut core = core();
    let (admin, ann, table) = scene(&mut core);
    done(&mut core, admin, |tx| tx.alter_role("db_ddladmin", "ann", true));
    for permission in [Permission::CreateQueue, Permission::CreateService, Permission::AlterAnyRoute] {
        assert!(may(&mut core, ann, permission, WHOLE), "{}", permission.name());
    }
    assert!(may(&mut core, ann, Permission::Alter, table));
    for permission in [Permission::Receive, Permission::Control, Permission::Select] {
        assert!(!may(&mut core, ann, permission, table), "{}", permission.name());
    }
    assert!(
        !may(&mut core, ann, Permission::AlterAnyUser, WHOLE)
            && !may(&mut core, ann, Permission::Alter, WHOLE)
    );
}

#[test]
fn members_of_db_owner_have_everything_in_their_database_only() {
    let mut core = core();
    let (admin, ann, table) = scene(&mut core);
    done(&mut core, admin, |tx| tx.alter_role("db_owner", "ann", true));
    assert!(
        may(&mut core, ann, Permission::Receive, table) && may(&mut core, ann, Permission::Control, WHOLE)
    );
    assert!(done(&mut core, ann, |tx| Ok(tx.is_member(User::DB_OWNER))));
    assert!(!may(&mut core, ann, Permission::ViewServerState, Securable::Server));
    assert!(!may(&mut core, ann, Permission::Select, Securable::Database(DatabaseId(4))));
}

#[test]
fn owners_control_what_they_own() {
    let mut core = core();
    let (admin, ann, _) = scene(&mut core);
    done(&mut core, admin, |tx| tx.create_schema("mine", Some("ann")));
    let name = ObjectName { schema: Some("mine".to_string()), ..ObjectName::plain("t") };
    let table = done(&mut core, admin, |tx| tx.create_table(&name, TableDef::default()));
    assert!(may(&mut core, ann, Permission::Control, Securable::Object(table.database, table.object)));
    assert_eq!(fails(&mut core, admin, |tx| tx.drop_user("ann")), 15138);
}

#[test]
fn server_permissions_are_granted_to_logins() {
    let mut core = core();
    let (admin, ann, _) = scene(&mut core);
    assert_eq!(
        fails(&mut core, ann, |tx| Ok(tx.require(Permission::ViewServerState, Securable::Server)?)),
        297
    );
    change(&mut core, admin, GrantAction::Grant, Permission::ViewServerState, Securable::Server, "ann");
    assert!(may(&mut core, ann, Permission::ViewServerState, Securable::Server));
    assert!(may(&mut core, ann, Permission::ViewAnyDatabase, Securable::Server), "public has it");
    core.execute_as_user(&call(admin), "ann").unwrap();
    assert!(
        !may(&mut core, admin, Permission::ViewServerState, Securable::Server),
        "not as an impersonated user"
    );
}

#[test]
fn only_holders_give_permissions_away() {
    let mut core = core();
    let (admin, ann, table) = scene(&mut core);
    let pass_on = |tx: &mut crate::engine::tx::Tx<'_>| {
        tx.change_permissions(GrantAction::Grant, &[Permission::Select], table, &["guest"])
    };
    change(&mut core, admin, GrantAction::Grant, Permission::Select, table, "ann");
    assert_eq!(fails(&mut core, ann, pass_on), 15151);
    change(&mut core, admin, GrantAction::GrantWithGrantOption, Permission::Select, table, "ann");
    done(&mut core, ann, pass_on);
    assert_eq!(
        fails(&mut core, admin, |tx| {
            tx.change_permissions(GrantAction::Grant, &[Permission::Select], table, &["nobody"])
        }),
        15151
    );
}

#[test]
fn permissions_go_with_their_securable_and_their_grantee() {
    let mut core = core();
    let (admin, ann, table) = scene(&mut core);
    let before = core.state().permissions.len();
    change(&mut core, admin, GrantAction::Grant, Permission::Select, table, "ann");
    done(&mut core, admin, |tx| tx.drop_table(&ObjectName::plain("t")));
    assert_eq!(core.state().permissions.len(), before);
    core.close_session(ann, START);
    done(&mut core, admin, |tx| tx.drop_user("ann"));
    assert_eq!(core.state().permissions.len(), before - 1);
}

#[test]
fn membership_reaches_through_roles_and_survives_a_cycle() {
    let mut core = core();
    let (admin, ann, table) = scene(&mut core);
    for role in ["inner", "outer"] {
        done(&mut core, admin, |tx| tx.create_role(role, None));
    }
    done(&mut core, admin, |tx| tx.alter_role("inner", "ann", true));
    done(&mut core, admin, |tx| tx.alter_role("outer", "inner", true));
    done(&mut core, admin, |tx| tx.alter_role("inner", "outer", true));
    change(&mut core, admin, GrantAction::Grant, Permission::Send, table, "outer");
    assert!(may(&mut core, ann, Permission::Send, table));
    let outer: PrincipalId = done(&mut core, admin, |tx| Ok(tx.resolve_principal("OUTER")?));
    assert!(outer.number() >= 5 && done(&mut core, ann, |tx| Ok(tx.is_member(outer))));
}
