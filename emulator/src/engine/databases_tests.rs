//! Creating, changing and dropping databases.

use super::{DatabaseOption, Termination};
use crate::engine::definitions::{Service, TableDef, UserAccess};
use crate::engine::ids::{ContractId, DatabaseId, MessageTypeId, ObjectId, RouteId, ServiceId};
use crate::engine::objects::ObjectName;
use crate::engine::testing::{call, core, done, fails, session};

#[test]
fn a_new_database_has_a_guid_of_its_own_and_an_enabled_broker() {
    let core = core();
    let (db, msdb) =
        (core.state().database_by_name("DB").unwrap(), core.state().database_by_name("msdb").unwrap());
    assert_eq!((db.def.id, db.def.broker_enabled), (DatabaseId(5), true));
    assert_ne!(db.def.broker_guid, msdb.def.broker_guid);
    assert!(!core.state().database_by_name("master").unwrap().def.broker_enabled);
}

#[test]
fn every_database_has_the_system_objects_under_their_ids() {
    let core = core();
    for database in core.state().databases.values() {
        let timer = database
            .message_types
            .find("http://schemas.microsoft.com/SQL/ServiceBroker/DialogTimer")
            .unwrap();
        assert_eq!((timer.id, timer.validation.code()), (MessageTypeId(5), "E "));
        assert_eq!(database.message_types.find("DEFAULT").unwrap().id, MessageTypeId(14));
        assert_eq!(database.contracts.find("DEFAULT").unwrap().id, ContractId(6));
        let service = database.services.get(ServiceId(2)).unwrap();
        assert_eq!((service.queue, &service.contracts[..]), (ObjectId(2_009_058_193), &[ContractId(2)][..]));
        let route = database.routes.get(RouteId(65536)).unwrap();
        assert_eq!((&*route.name, &*route.address), ("AutoCreatedLocal", "LOCAL"));
        assert_eq!(database.objects.iter().count(), 3);
    }
}

#[test]
fn ids_of_user_objects_start_where_the_server_starts_them() {
    let mut core = core();
    let one = session(&mut core);
    let table = done(&mut core, one, |tx| tx.create_table(&ObjectName::plain("t"), TableDef::default()));
    assert_eq!(table.object, ObjectId(245_575_913));
    let service = done(&mut core, one, |tx| Ok(tx.allocate::<Service>(DatabaseId(5))));
    assert_eq!(service, ServiceId(65536));
}

#[test]
fn a_dropped_database_leaves_nothing_behind() {
    let mut core = core();
    let one = session(&mut core);
    done(&mut core, one, |tx| tx.create_table(&ObjectName::plain("t"), TableDef::default()));
    assert_eq!(fails(&mut core, one, |tx| tx.drop_database("db")), 3702);
    core.use_database(&call(one), "master").unwrap();
    done(&mut core, one, |tx| tx.drop_database("DB"));
    assert!(core.state().database_by_name("db").is_none() && core.state().tables.is_empty());
    assert!(core.state().permissions.keys().all(|key| key.securable.database() != Some(DatabaseId(5))));
    assert_eq!(fails(&mut core, one, |tx| tx.drop_database("db")), 3701);
    assert_eq!(done(&mut core, one, |tx| tx.create_database("new")), DatabaseId(5));
}

#[test]
fn a_drop_that_fails_later_puts_everything_back() {
    let mut core = core();
    let one = session(&mut core);
    let table = done(&mut core, one, |tx| tx.create_table(&ObjectName::plain("t"), TableDef::default()));
    core.use_database(&call(one), "master").unwrap();
    let number = fails(&mut core, one, |tx| -> crate::engine::tx::Op<()> {
        tx.drop_database("db")?;
        Err(crate::engine::errors::invalid_object("x").into())
    });
    assert_eq!(number, 208);
    core.use_database(&call(one), "db").unwrap();
    assert_eq!(done(&mut core, one, |tx| Ok(tx.resolve_table(&ObjectName::plain("T"))?.0)), table);
    assert!(core.state().tables.contains_key(&table));
    assert!(core.state().database_by_name("db").unwrap().contracts.find("DEFAULT").is_some());
}

#[test]
fn refusals_name_their_reason() {
    let mut core = core();
    let one = session(&mut core);
    assert_eq!(fails(&mut core, one, |tx| tx.create_database("Db")), 1801);
    assert_eq!(fails(&mut core, one, |tx| tx.drop_database("msdb")), 3708);
    assert_eq!(fails(&mut core, one, |tx| tx.rename_database("db", "tempdb")), 1801);
    assert_eq!(fails(&mut core, one, |tx| tx.rename_database("nosuch", "x")), 5011);
    let single = DatabaseOption::Access(UserAccess::Single);
    assert_eq!(fails(&mut core, one, |tx| tx.alter_database("master", &single, Termination::Wait)), 5058);
    core.begin(&call(one)).unwrap();
    assert_eq!(fails(&mut core, one, |tx| tx.create_database("x")), 226);
}

#[test]
fn options_and_names_change() {
    let mut core = core();
    let one = session(&mut core);
    let recovery = DatabaseOption::Stored("recovery".to_string(), "SIMPLE".to_string());
    done(&mut core, one, |tx| tx.alter_database("db", &recovery, Termination::Wait));
    done(&mut core, one, |tx| tx.alter_database("db", &DatabaseOption::Trustworthy(true), Termination::Wait));
    done(&mut core, one, |tx| tx.rename_database("db", "renamed"));
    assert!(core.state().database_by_name("db").is_none());
    let def = &core.state().database_by_name("RENAMED").unwrap().def;
    assert_eq!((def.trustworthy, def.options.get("RECOVERY").map(|it| &**it)), (true, Some("SIMPLE")));
}
