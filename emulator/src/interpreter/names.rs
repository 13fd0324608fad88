//! Names as written, turned into the engine's names of objects.
//!
//! Whether anything by such a name exists is the engine's to say. This file must not know any particular statement.

use super::errors;
use crate::engine::{self, FoldedName, Securable, Tx};
use crate::error::SqlError;
use crate::relational::split_name;
use crate::tsql::ast::ObjectName;
use crate::tsql::ast::name::Ident;
use crate::tsql::ast::security::Securable as Written;

/// A schema object's name of up to three parts.
///
/// # Errors
/// 40510 for a name of four parts, which lies on another server.
pub(super) fn object_name(name: &ObjectName) -> Result<engine::ObjectName, SqlError> {
    if name.server().is_some() {
        return Err(SqlError::unsupported("linked servers"));
    }
    Ok(engine::ObjectName {
        database: name.database().map(spelled),
        schema: name.schema().map(spelled),
        name: spelled(name.name()),
    })
}

/// A schema object's name as a client or a variable spells it: `dbo.p`, `[db].[dbo].[p]`.
///
/// # Errors
/// 2812 for a text that is no name, 40510 for one of four parts.
pub(super) fn object_name_of_text(text: &str) -> Result<engine::ObjectName, SqlError> {
    let parts = split_name(text).ok_or_else(|| errors::procedure_not_found(text))?;
    let part = |from_end: usize| {
        let part = parts.len().checked_sub(from_end).and_then(|index| parts.get(index));
        part.filter(|part| !part.is_empty()).cloned()
    };
    if part(4).is_some() {
        return Err(SqlError::unsupported("linked servers"));
    }
    Ok(engine::ObjectName { database: part(3), schema: part(2), name: part(1).unwrap_or_default() })
}

/// An identifier's text.
pub(super) fn spelled(ident: &Ident) -> String {
    ident.as_str().to_owned()
}

/// The securable that ON of GRANT names.
///
/// # Errors
/// 15151 when there is none of that name, 40510 for classes the emulator does not keep.
pub(super) fn securable(written: &Written, tx: &Tx<'_>) -> Result<Securable, SqlError> {
    let (class, name) = (written.class.as_deref().unwrap_or("OBJECT"), written.name.name().as_str());
    let found = match class {
        "OBJECT" => tx
            .find_object(&object_name(&written.name)?)?
            .map(|(key, _)| Securable::Object(key.database, key.object)),
        "DATABASE" => tx.state().database_by_name(name).map(|found| Securable::Database(found.def.id)),
        "LOGIN" => tx.state().logins.find(&FoldedName::new(name)).map(|login| Securable::Login(login.id)),
        class => return in_database(class, name, tx),
    };
    found.ok_or_else(|| errors::securable_not_found(&class.to_lowercase(), &written.name.to_string()))
}

/// A securable of the current database other than a schema object.
fn in_database(class: &str, name: &str, tx: &Tx<'_>) -> Result<Securable, SqlError> {
    let id = tx.database();
    let missing = || errors::securable_not_found(&class.to_lowercase(), name);
    let database = tx.state().database(id).ok_or_else(missing)?;
    let folded = FoldedName::new(name);
    let found = match class {
        "SCHEMA" => database.schemas.find(&folded).map(|it| Securable::Schema(id, it.id)),
        "MESSAGE TYPE" => database.message_types.find(name).map(|it| Securable::MessageType(id, it.id)),
        "CONTRACT" => database.contracts.find(name).map(|it| Securable::Contract(id, it.id)),
        "SERVICE" => database.services.find(name).map(|it| Securable::Service(id, it.id)),
        "ROUTE" => database.routes.find(&folded).map(|it| Securable::Route(id, it.id)),
        "REMOTE SERVICE BINDING" => database.bindings.find(&folded).map(|it| Securable::Binding(id, it.id)),
        "USER" | "ROLE" => database.users.find(&folded).map(|it| Securable::User(id, it.id)),
        class => return Err(SqlError::unsupported(format_args!("permissions ON {class}::"))),
    };
    found.ok_or_else(missing)
}
