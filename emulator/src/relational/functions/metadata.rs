//! Functions that look things up in the catalog: databases, schemas, objects, types, columns, permissions.

use std::sync::Arc;

use super::{Call, Function, Parameter, int, of_session, sysname, variant};
use crate::engine::{
    Database, DatabaseId, FoldedName, Object, ObjectId, ObjectKey, ObjectKind, ObjectName, Op, Permission,
    SchemaId, Securable, TableDef, UserAccess,
};
use crate::relational::environment::Context;
use crate::relational::names::split_name;
use crate::relational::system_types::{by_name, name_of};
use crate::value::{SqlType, Value};

/// Database and object functions.
pub(super) const FUNCTIONS: &[Function] = &[
    of_session("DB_ID", &[Parameter::Unicode], |_| SqlType::SmallInt, database_id),
    of_session("DB_NAME", &[Parameter::Int], sysname, database_name),
    of_session("OBJECT_ID", &[Parameter::Unicode, Parameter::Unicode], int, object_id).requiring(1),
    of_session("OBJECT_NAME", &[Parameter::Int, Parameter::Int], sysname, object_name).requiring(1),
    of_session("OBJECT_SCHEMA_NAME", &[Parameter::Int, Parameter::Int], sysname, object_schema_name)
        .requiring(1),
    of_session("SCHEMA_ID", &[Parameter::Unicode], int, schema_id),
    of_session("SCHEMA_NAME", &[Parameter::Int], sysname, schema_name),
    of_session("TYPE_ID", &[Parameter::Unicode], int, type_id).requiring(1),
    of_session("TYPE_NAME", &[Parameter::Int], sysname, type_name).requiring(1),
    of_session(
        "IDENT_CURRENT",
        &[Parameter::Unicode],
        |_| SqlType::Decimal { precision: 38, scale: 0 },
        last_identity,
    )
    .requiring(1),
];

/// Column, property and permission functions.
pub(super) const MORE_FUNCTIONS: &[Function] = &[
    of_session("COL_NAME", &[Parameter::Int, Parameter::Int], sysname, column_name).requiring(2),
    of_session("COL_LENGTH", &[Parameter::Unicode, Parameter::Unicode], |_| SqlType::SmallInt, column_length)
        .requiring(2),
    of_session(
        "COLUMNPROPERTY",
        &[Parameter::Int, Parameter::Unicode, Parameter::Unicode],
        int,
        column_property,
    )
    .requiring(3),
    of_session("DATABASEPROPERTYEX", &[Parameter::Unicode, Parameter::Unicode], variant, database_property)
        .requiring(2),
    of_session("DATABASEPROPERTY", &[Parameter::Unicode, Parameter::Unicode], int, old_database_property)
        .requiring(2),
    of_session("HAS_DBACCESS", &[Parameter::Unicode], int, has_database_access).requiring(1),
    of_session(
        "HAS_PERMS_BY_NAME",
        &[Parameter::Unicode, Parameter::Unicode, Parameter::Unicode],
        int,
        has_permission,
    )
    .requiring(3),
];

fn text_or_null(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::nvarchar)
}

fn database_id(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let id = match call.arguments.first() {
        None => Some(ctx.env.session().database),
        Some(Value::Null) => None,
        Some(_) => ctx.tx.state().database_by_name(&call.string(0)).map(|database| database.def.id),
    };
    Ok(id.map_or(Value::Null, |id| Value::SmallInt(id.0 as i16)))
}

fn database_name(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let id = match call.arguments.first() {
        None | Some(Value::Int(0)) => return Ok(Value::nvarchar(&ctx.env.session().database_name)),
        Some(Value::Int(id)) => DatabaseId(*id),
        Some(_) => return Ok(Value::Null),
    };
    Ok(text_or_null(ctx.tx.state().database(id).map(|database| &*database.def.name)))
}

/// An object by the text of its name; `None` for names that do not resolve.
fn find_object(ctx: &Context<'_, '_>, name: &str) -> Option<(ObjectKey, Arc<Object>)> {
    let name = object_name_of(name)?;
    ctx.tx.find_object(&name).ok().flatten()
}

fn object_name_of(name: &str) -> Option<ObjectName> {
    let mut parts = split_name(name)?.into_iter().rev();
    let name = parts.next()?;
    let mut optional = || parts.next().filter(|part| !part.is_empty());
    let (schema, database) = (optional(), optional());
    Some(ObjectName { database, schema, name })
}

/// With a type letter only an object of that type counts; views of the catalog have no ids here.
fn object_id(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    if !call.has(0) || (call.arguments.len() > 1 && !call.has(1)) {
        return Ok(Value::Null);
    }
    let found = find_object(ctx, &call.string(0));
    let wanted = call.string(1);
    let fits = |object: &Object| {
        wanted.is_empty() || object.kind.type_code().eq_ignore_ascii_case(wanted.trim_end())
    };
    let found = found.filter(|(_, object)| call.arguments.len() < 2 || fits(object));
    Ok(found.map_or(Value::Null, |(key, _)| Value::Int(key.object.0)))
}

/// The object of the id in the first argument, in the database of the id in the second or the current one.
fn object_by_id(call: &Call<'_>, ctx: &Context<'_, '_>) -> Option<(DatabaseId, Arc<Object>)> {
    let Some(Value::Int(id)) = call.arguments.first() else { return None };
    let database = match call.arguments.get(1) {
        None => ctx.tx.database(),
        Some(Value::Int(database)) => DatabaseId(*database),
        Some(_) => return None,
    };
    let object = ctx.tx.state().object(ObjectKey::new(database, ObjectId(*id)))?;
    Some((database, Arc::clone(object)))
}

fn object_name(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let object = object_by_id(call, ctx);
    Ok(text_or_null(object.as_ref().map(|(_, object)| &*object.name)))
}

fn object_schema_name(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let Some((database, object)) = object_by_id(call, ctx) else { return Ok(Value::Null) };
    Ok(schema_text(ctx, database, object.schema))
}

fn schema_text(ctx: &Context<'_, '_>, database: DatabaseId, schema: SchemaId) -> Value {
    let schema = ctx.tx.state().database(database).and_then(|database| database.schemas.get(schema));
    text_or_null(schema.map(|schema| &*schema.name))
}

/// The user's default schema, which functions without argument speak of.
fn default_schema(ctx: &Context<'_, '_>) -> String {
    let principal = ctx.tx.principal();
    let database = ctx.tx.state().database(principal.database);
    let user = database.and_then(|database| database.users.get(principal.user));
    user.map_or_else(|| "dbo".to_owned(), |user| user.default_schema.to_string())
}

fn schema_id(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let name = match call.arguments.first() {
        None => default_schema(ctx),
        Some(Value::Null) => return Ok(Value::Null),
        Some(_) => call.string(0),
    };
    let database = ctx.tx.state().database(ctx.tx.database());
    let schema = database.and_then(|database| database.schemas.find(&FoldedName::new(&name)));
    Ok(schema.map_or(Value::Null, |schema| Value::Int(schema.id.0)))
}

fn schema_name(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    match call.arguments.first() {
        None => Ok(Value::nvarchar(&default_schema(ctx))),
        Some(Value::Int(id)) => Ok(schema_text(ctx, ctx.tx.database(), SchemaId(*id))),
        Some(_) => Ok(Value::Null),
    }
}

fn type_id(call: &Call<'_>, _: &mut Context<'_, '_>) -> Op<Value> {
    let parts = split_name(&call.string(0)).unwrap_or_default();
    let id = parts.last().and_then(|name| by_name(name));
    Ok(id.map_or(Value::Null, Value::Int))
}

fn type_name(call: &Call<'_>, _: &mut Context<'_, '_>) -> Op<Value> {
    Ok(text_or_null(name_of(call.int(0))))
}

fn table_of(object: &Object) -> Option<&TableDef> {
    match &object.kind {
        ObjectKind::Table(table) => Some(table),
        _ => None,
    }
}

fn last_identity(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let found = find_object(ctx, &call.string(0));
    let Some((key, object)) = found else { return Ok(Value::Null) };
    let Some((_, (seed, _))) = table_of(&object).and_then(TableDef::identity) else { return Ok(Value::Null) };
    let last = ctx.tx.state().tables.get(&key).and_then(|table| table.last_identity());
    let number = i128::from(last.unwrap_or(seed));
    Ok(Value::Decimal(crate::value::Decimal::whole(number)))
}

fn column_name(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let (table, column) = (call.int(0), call.int(1));
    let object = ctx.tx.state().object(ObjectKey::new(ctx.tx.database(), ObjectId(table)));
    let columns =
        object.and_then(|object| table_of(object)).map(|table| table.columns.as_slice()).unwrap_or_default();
    let column = usize::try_from(column - 1).ok().and_then(|index| columns.get(index));
    Ok(text_or_null(column.map(|column| column.column.name.as_str())))
}

fn column_length(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let found = find_object(ctx, &call.string(0));
    let column = found.as_ref().and_then(|(_, object)| {
        let table = table_of(object)?;
        Some(table.columns[table.column_index(&call.string(1))?].column.ty)
    });
    Ok(column.map_or(Value::Null, |ty| Value::SmallInt(crate::relational::system_types::byte_length(ty))))
}

fn column_property(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let object = ctx.tx.state().object(ObjectKey::new(ctx.tx.database(), ObjectId(call.int(0))));
    let Some(table) = object.and_then(|object| table_of(object)) else { return Ok(Value::Null) };
    let Some(index) = table.column_index(&call.string(1)) else { return Ok(Value::Null) };
    let column = &table.columns[index];
    let facets = crate::relational::types::exact_facets(column.column.ty);
    Ok(match call.string(2).to_lowercase().as_str() {
        "allowsnull" => Value::Int(i32::from(column.column.nullable)),
        "columnid" => Value::Int(index as i32 + 1),
        "isidentity" => Value::Int(i32::from(column.identity.is_some())),
        "iscomputed" => Value::Int(i32::from(column.computed.is_some())),
        "isrowguidcol" => Value::Int(0),
        "precision" => facets.map_or(Value::Null, |(precision, _)| Value::Int(i32::from(precision))),
        "scale" => facets.map_or(Value::Null, |(_, scale)| Value::Int(i32::from(scale))),
        _ => Value::Null,
    })
}

fn database_property(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let state = ctx.tx.state();
    let Some(database) = state.database_by_name(&call.string(0)) else { return Ok(Value::Null) };
    let property = call.string(1).to_lowercase();
    Ok(match property.as_str() {
        "status" => Value::nvarchar("ONLINE"),
        "collation" => Value::nvarchar(crate::value::Collation::DEFAULT.name()),
        "updateability" => Value::nvarchar("READ_WRITE"),
        "useraccess" => Value::nvarchar(user_access(&database.def)),
        "version" => Value::Int(904),
        "lcid" => Value::Int(1033),
        "recovery" => Value::nvarchar("SIMPLE"),
        "isansinullsenabled"
        | "isansinulldefault"
        | "isansipaddingenabled"
        | "isansiwarningsenabled"
        | "isautoclose"
        | "isautoshrink"
        | "isfulltextenabled"
        | "isinstandby"
        | "isquotedidentifiersenabled"
        | "isrecursivetriggersenabled"
        | "ismergepublished"
        | "ispublished"
        | "issubscribed" => Value::Int(0),
        "isautocreatestatistics" | "isautoupdatestatistics" => Value::Int(1),
        _ => Value::Null,
    })
}

fn user_access(database: &Database) -> &'static str {
    match database.user_access {
        UserAccess::Single => "SINGLE_USER",
        UserAccess::Restricted => "RESTRICTED_USER",
        UserAccess::Multi => "MULTI_USER",
    }
}

/// The predecessor of DATABASEPROPERTYEX, which answers whole numbers only.
fn old_database_property(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let known = ctx.tx.state().database_by_name(&call.string(0)).is_some();
    let property = call.string(1).to_lowercase();
    Ok(match property.as_str() {
        _ if !known => Value::Null,
        "version" => Value::Int(904),
        "isoffline" | "issuspect" | "isinload" | "isnotrecovered" | "isemergencymode" | "isreadonly"
        | "isdetached" | "isinrecovery" | "isshutdown" => Value::Int(0),
        _ => Value::Null,
    })
}

fn has_database_access(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let Some(database) = ctx.tx.state().database_by_name(&call.string(0)) else { return Ok(Value::Null) };
    let allowed = ctx.tx.has_permission(Permission::Connect, Securable::Database(database.def.id));
    Ok(Value::Int(i32::from(allowed)))
}

/// NULL for a securable or permission that does not exist. `ANY` asks for any permission at all.
fn has_permission(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let (name, class) = (call.has(0).then(|| call.string(0)), call.has(1).then(|| call.string(1)));
    let Some(securable) = securable(ctx, name.as_deref(), class.as_deref()) else { return Ok(Value::Null) };
    let wanted = call.string(2);
    if wanted.eq_ignore_ascii_case("ANY") {
        let any = Permission::ALL.iter().any(|permission| ctx.tx.has_permission(*permission, securable));
        return Ok(Value::Int(i32::from(any)));
    }
    let answer = Permission::by_name(&wanted).map(|permission| ctx.tx.has_permission(permission, securable));
    Ok(answer.map_or(Value::Null, |allowed| Value::Int(i32::from(allowed))))
}

/// Names of broker objects compare ordinally (U-01), all others by the default collation.
fn securable(ctx: &Context<'_, '_>, name: Option<&str>, class: Option<&str>) -> Option<Securable> {
    let Some(class) = class else { return name.is_none().then_some(Securable::Server) };
    let id = ctx.tx.database();
    let database = ctx.tx.state().database(id)?;
    let parts = name.and_then(split_name);
    let single = parts.as_deref().and_then(|parts| parts.last());
    Some(match class.to_uppercase().as_str() {
        "SERVER" => Securable::Server,
        "DATABASE" => match single {
            None => Securable::Database(id),
            Some(name) => Securable::Database(ctx.tx.state().database_by_name(name)?.def.id),
        },
        "OBJECT" => {
            let (key, _) = find_object(ctx, name?)?;
            Securable::Object(key.database, key.object)
        }
        "SCHEMA" => Securable::Schema(id, database.schemas.find(&FoldedName::new(single?))?.id),
        "SERVICE" => Securable::Service(id, database.services.find(single?.as_str())?.id),
        "CONTRACT" => Securable::Contract(id, database.contracts.find(single?.as_str())?.id),
        "MESSAGE TYPE" => Securable::MessageType(id, database.message_types.find(single?.as_str())?.id),
        "ROUTE" => Securable::Route(id, database.routes.find(&FoldedName::new(single?))?.id),
        "REMOTE SERVICE BINDING" => {
            Securable::Binding(id, database.bindings.find(&FoldedName::new(single?))?.id)
        }
        "USER" | "ROLE" => Securable::User(id, database.users.find(&FoldedName::new(single?))?.id),
        _ => return None,
    })
}
