//! Names, schemas and modules.

use super::ObjectName;
use crate::engine::core::Core;
use crate::engine::definitions::{ModuleDef, ModuleKind, Permission, Secret, TableDef};
use crate::engine::ids::{ObjectKey, SessionId};
use crate::engine::testing::{call, core, done, fails, open, session};
use crate::engine::tx::{Op, Tx};
use crate::engine::users::UserFor;

fn name(text: &str) -> ObjectName {
    let mut parts = text.split('.').rev().map(str::to_string);
    let name = parts.next().unwrap();
    ObjectName { name, schema: parts.next(), database: parts.next() }
}

fn find(core: &mut Core, session: SessionId, text: &str) -> Option<ObjectKey> {
    done(core, session, |tx| Ok(tx.find_object(&name(text))?.map(|(key, _)| key)))
}

fn module(kind: ModuleKind, text: &str) -> ModuleDef {
    ModuleDef { kind, text: text.into(), parameters: 0, execute_as: None, quoted_identifier: true }
}

fn create(text: &str, or_alter: bool) -> impl Fn(&mut Tx<'_>) -> Op<ObjectKey> {
    let (name, module) = (name(text), module(ModuleKind::Procedure, "text"));
    move |tx| tx.create_module(&name, module.clone(), Permission::CreateProcedure, or_alter)
}

#[test]
fn names_are_searched_in_the_default_schema_and_then_in_dbo() {
    let mut core = core();
    let one = session(&mut core);
    done(&mut core, one, |tx| tx.create_schema("s", None));
    done(&mut core, one, |tx| tx.create_login("ann", Secret::new("p"), None));
    done(&mut core, one, |tx| tx.create_user("ann", &UserFor::SameName, Some("s")));
    let in_dbo = done(&mut core, one, |tx| tx.create_table(&name("T"), TableDef::default()));
    let ann = core.verify_login("ann", "p").unwrap();
    let two = open(&mut core, ann, "db").unwrap();
    assert_eq!(find(&mut core, two, "t"), Some(in_dbo));
    let in_s = done(&mut core, one, |tx| tx.create_table(&name("s.t"), TableDef::default()));
    assert_eq!(find(&mut core, two, "t"), Some(in_s));
    assert_eq!(find(&mut core, two, "DBO.t"), Some(in_dbo));
    assert_eq!(find(&mut core, one, "t"), Some(in_dbo));
    assert_eq!(find(&mut core, one, "nosuch.t"), None);
}

#[test]
fn three_part_names_reach_other_databases() {
    let mut core = core();
    let one = session(&mut core);
    let table = done(&mut core, one, |tx| tx.create_table(&name("t"), TableDef::default()));
    core.use_database(&call(one), "master").unwrap();
    assert_eq!(find(&mut core, one, "DB.dbo.t"), Some(table));
    assert_eq!(find(&mut core, one, "db..t"), Some(table));
    assert_eq!(fails(&mut core, one, |tx| Ok(tx.resolve_object(&name("dbo.t"))?.0)), 208);
    assert_eq!(fails(&mut core, one, |tx| Ok(tx.resolve_object(&name("nosuch.dbo.t"))?.0)), 911);
    assert_eq!(name("db..t").to_string(), "db..t");
}

#[test]
fn a_name_is_taken_by_whatever_kind_of_object() {
    let mut core = core();
    let one = session(&mut core);
    done(&mut core, one, create("p", false));
    assert_eq!(fails(&mut core, one, create("P", false)), 2714);
    assert_eq!(fails(&mut core, one, |tx| tx.create_table(&name("p"), TableDef::default())), 2714);
    assert_eq!(fails(&mut core, one, create("nosuch.p", false)), 2760);
}

#[test]
fn modules_are_altered_in_place_and_only_by_their_kind() {
    let mut core = core();
    let one = session(&mut core);
    let key = done(&mut core, one, create("p", true));
    assert_eq!(done(&mut core, one, create("p", true)), key);
    let view = module(ModuleKind::View, "other");
    assert_eq!(fails(&mut core, one, |tx| tx.alter_module(&name("p"), view.clone())), 2714);
    assert_eq!(fails(&mut core, one, |tx| tx.alter_module(&name("q"), view.clone())), 208);
    let is = |kind| move |module: &ModuleDef| module.kind == kind;
    assert_eq!(fails(&mut core, one, |tx| tx.drop_module(&name("p"), "view", is(ModuleKind::View))), 3701);
    done(&mut core, one, |tx| tx.drop_module(&name("p"), "procedure", is(ModuleKind::Procedure)));
    assert_eq!(find(&mut core, one, "p"), None);
}

#[test]
fn schemas_are_dropped_when_empty_and_not_when_built_in() {
    let mut core = core();
    let one = session(&mut core);
    done(&mut core, one, |tx| tx.create_schema("s", None));
    assert_eq!(fails(&mut core, one, |tx| tx.create_schema("S", None)), 2714);
    done(&mut core, one, |tx| tx.create_table(&name("s.t"), TableDef::default()));
    assert_eq!(fails(&mut core, one, |tx| tx.drop_schema("s")), 3729);
    done(&mut core, one, |tx| tx.drop_table(&name("s.t")));
    done(&mut core, one, |tx| tx.drop_schema("s"));
    assert_eq!(fails(&mut core, one, |tx| tx.drop_schema("dbo")), 15151);
    assert_eq!(fails(&mut core, one, |tx| tx.drop_schema("s")), 15151);
}
