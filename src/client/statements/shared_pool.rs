//! The table of a dialog pool that several processes share (`sql/06-shared-pool.sql`).
//!
//! A place is claimed by an update lock in the sending transaction: the claim ends with the transaction or with its
//! connection, so a process that dies leaves nothing behind. The order of locks is always place, then conversation group;
//! who already holds a group skips places that are locked.

use super::super::ids::ConversationHandle;
use super::super::values::SqlValue;
use super::{Argument, DialogSpec, Statement};

/// Which places are meant: those of one pool for one route.
#[derive(Clone, Debug)]
pub(crate) struct PlaceKey {
    pub(crate) pool: String,
    pub(crate) route: i64,
}

const PLACE_COLUMNS: &str = "place, conversation_handle, sends, bytes, ISNULL(DATEDIFF_BIG(millisecond, begun, \
     SYSUTCDATETIME()), 0) AS age";

/// Makes the missing rows of a route's places. Safe to run from several processes at once.
pub(crate) fn make_places<'a>(key: &'a PlaceKey, spec: &'a DialogSpec, width: usize) -> Statement<'a> {
    let contract = spec.contract.as_ref().map_or("DEFAULT", |contract| contract.as_str());
    let statement = Statement::new(
        "SET NOCOUNT ON; DECLARE @place int = 0; WHILE @place < @width BEGIN BEGIN TRY INSERT INTO \
         [ssbroker].[pool_dialogs] (pool_name, route, place, from_service_name, to_service_name, contract_name) SELECT @pool, \
         @route, @place, @from, @to, @contract WHERE NOT EXISTS (SELECT 1 FROM [ssbroker].[pool_dialogs] WHERE pool_name = \
         @pool AND route = @route AND place = @place); END TRY BEGIN CATCH IF ERROR_NUMBER() NOT IN (2601, 2627) THROW; END \
         CATCH; SET @place += 1; END; SELECT COUNT(*) AS places FROM [ssbroker].[pool_dialogs] WITH (NOLOCK) WHERE pool_name \
         = @pool AND route = @route AND from_service_name = @from AND to_service_name = @to AND contract_name = @contract;",
    );
    bind_key(statement, key)
        .bind_int("@width", i32::try_from(width).unwrap_or(i32::MAX))
        .bind("@from", "nvarchar(256)", Argument::Text(spec.from.as_str()))
        .bind("@to", "nvarchar(256)", Argument::Text(spec.to.as_str()))
        .bind("@contract", "nvarchar(256)", Argument::Text(contract))
}

/// Claims one place, waiting for it. One row.
pub(crate) fn claim_place(key: &PlaceKey, place: i32) -> Statement<'_> {
    let text = format!(
        "SELECT {PLACE_COLUMNS} FROM [ssbroker].[pool_dialogs] WITH (UPDLOCK, ROWLOCK) WHERE pool_name = @pool AND route = \
         @route AND place = @place;"
    );
    bind_key(Statement::new(text), key).bind_int("@place", place)
}

/// Claims the first place that nobody holds. One row, or none.
pub(crate) fn claim_free_place(key: &PlaceKey, width: usize) -> Statement<'_> {
    let text = format!(
        "SELECT TOP (1) {PLACE_COLUMNS} FROM [ssbroker].[pool_dialogs] WITH (UPDLOCK, ROWLOCK, READPAST) WHERE pool_name = \
         @pool AND route = @route AND place < @width ORDER BY place;"
    );
    bind_key(Statement::new(text), key).bind_int("@width", i32::try_from(width).unwrap_or(i32::MAX))
}

/// What lies in a claimed place from now on. `fresh`: the dialog was begun in this transaction.
pub(crate) fn fill_place(
    key: &PlaceKey,
    place: i32,
    dialog: Option<ConversationHandle>,
    fresh: bool,
    sends: u64,
    bytes: u64,
) -> Statement<'_> {
    let count = |number: u64| Argument::Value(SqlValue::I64(i64::try_from(number).unwrap_or(i64::MAX)));
    let handle = dialog.map_or(SqlValue::Null, |handle| SqlValue::Uuid(handle.as_uuid()));
    let statement = Statement::new(
        "UPDATE [ssbroker].[pool_dialogs] SET conversation_handle = @handle, begun = CASE WHEN @fresh = 1 THEN \
         SYSUTCDATETIME() ELSE begun END, sends = @sends, bytes = @bytes WHERE pool_name = @pool AND route = @route AND place \
         = @place;",
    );
    bind_key(statement, key)
        .bind_int("@place", place)
        .bind("@handle", "uniqueidentifier", Argument::Value(handle))
        .bind_int("@fresh", i32::from(fresh))
        .bind("@sends", "bigint", count(sends))
        .bind("@bytes", "bigint", count(bytes))
}

/// Claims the place of a dialog without waiting for it, for one who holds the lock of the dialog's group. First set: the
/// place, if it could be claimed; second set: `held`, how many places hold the dialog, claimed or not.
pub(crate) fn claim_place_of(pool: &str, dialog: ConversationHandle) -> Statement<'_> {
    Statement::new(
        "SELECT route, place FROM [ssbroker].[pool_dialogs] WITH (UPDLOCK, ROWLOCK, READPAST) WHERE pool_name = @pool AND \
         conversation_handle = @handle; SELECT COUNT(*) AS held FROM [ssbroker].[pool_dialogs] WITH (NOLOCK) WHERE pool_name \
         = @pool AND conversation_handle = @handle;",
    )
    .bind("@pool", "nvarchar(64)", Argument::Text(pool))
    .bind_handle("@handle", dialog)
}

fn bind_key<'a>(statement: Statement<'a>, key: &'a PlaceKey) -> Statement<'a> {
    statement.bind("@pool", "nvarchar(64)", Argument::Text(&key.pool)).bind(
        "@route",
        "bigint",
        Argument::Value(SqlValue::I64(key.route)),
    )
}
