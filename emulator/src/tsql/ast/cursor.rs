//! Cursor statements.
//!
//! Must not know how a cursor keeps its rows.

use super::expr::Expr;
use super::name::{Ident, VariableName};
use super::query::SelectStatement;

/// A statement about a cursor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CursorStatement {
    /// `DECLARE name CURSOR .. FOR ..`
    Declare {
        /// The cursor's name.
        name: Ident,
        /// What it is.
        definition: CursorDefinition,
    },
    /// `OPEN cursor`
    Open(CursorName),
    /// `FETCH ..`
    Fetch(Fetch),
    /// `CLOSE cursor`
    Close(CursorName),
    /// `DEALLOCATE cursor`
    Deallocate(CursorName),
}

/// How a statement names a cursor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CursorName {
    /// `[GLOBAL] name`
    Name {
        /// The name.
        name: Ident,
        /// GLOBAL was written.
        global: bool,
    },
    /// A cursor variable.
    Variable(VariableName),
}

/// What a cursor is: its options and its query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CursorDefinition {
    /// LOCAL or GLOBAL, when written.
    pub(crate) scope: Option<CursorScope>,
    /// SCROLL (or any ISO `SCROLL` before CURSOR).
    pub(crate) scroll: bool,
    /// FORWARD_ONLY.
    pub(crate) forward_only: bool,
    /// STATIC, KEYSET, DYNAMIC or FAST_FORWARD, when written; INSENSITIVE is STATIC.
    pub(crate) model: Option<CursorModel>,
    /// READ_ONLY, SCROLL_LOCKS or OPTIMISTIC, when written.
    pub(crate) concurrency: Option<CursorConcurrency>,
    /// TYPE_WARNING.
    pub(crate) type_warning: bool,
    /// The query.
    pub(crate) query: Box<SelectStatement>,
    /// FOR UPDATE [OF columns] or FOR READ ONLY.
    pub(crate) purpose: CursorPurpose,
}

/// Who sees a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CursorScope {
    /// The batch, procedure or trigger.
    Local,
    /// The session.
    Global,
}

/// How a cursor sees changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CursorModel {
    /// `STATIC`
    Static,
    /// `KEYSET`
    Keyset,
    /// `DYNAMIC`
    Dynamic,
    /// `FAST_FORWARD`
    FastForward,
}

/// How rows are protected between FETCH and UPDATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CursorConcurrency {
    /// `READ_ONLY`
    ReadOnly,
    /// `SCROLL_LOCKS`
    ScrollLocks,
    /// `OPTIMISTIC`
    Optimistic,
}

/// What stood after the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CursorPurpose {
    /// Nothing.
    Unspecified,
    /// `FOR READ ONLY`
    ReadOnly,
    /// `FOR UPDATE [OF columns]`; empty means all columns.
    Update(Vec<Ident>),
}

/// `FETCH [direction FROM] cursor [INTO @a, @b]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fetch {
    /// Which row.
    pub(crate) direction: FetchDirection,
    /// The cursor.
    pub(crate) cursor: CursorName,
    /// The variables; empty means a result set.
    pub(crate) into: Vec<VariableName>,
}

/// Which row FETCH takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FetchDirection {
    /// `NEXT`, the default.
    Next,
    /// `PRIOR`
    Prior,
    /// `FIRST`
    First,
    /// `LAST`
    Last,
    /// `ABSOLUTE n`
    Absolute(Expr),
    /// `RELATIVE n`
    Relative(Expr),
}
