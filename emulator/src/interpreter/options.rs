//! The settings of a session that SET changes, and which of them the emulator obeys.
//!
//! Pure. Every option that drivers send is known; one that would change results in a way the emulator does not imitate
//! is refused with 40510 instead of being stored without effect. This file must not know how options are obeyed.

use std::time::Duration;

use crate::error::SqlError;
use crate::request::IsolationLevel;

/// The settings of a session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Options {
    /// NOCOUNT: statements report no counts.
    pub(crate) no_count: bool,
    /// XACT_ABORT: every error ends batch and transaction.
    pub(crate) xact_abort: bool,
    /// IMPLICIT_TRANSACTIONS: data statements begin a transaction.
    pub(crate) implicit_transactions: bool,
    /// QUOTED_IDENTIFIER: `"x"` is a name.
    pub(crate) quoted_identifier: bool,
    /// LOCK_TIMEOUT; `None` waits without end.
    pub(crate) lock_timeout: Option<Duration>,
    /// TRANSACTION ISOLATION LEVEL.
    pub(crate) isolation: IsolationLevel,
    /// TEXTSIZE.
    pub(crate) text_size: i32,
    /// DATEFIRST.
    pub(crate) date_first: u8,
    /// Switches that are on, among those stored without effect.
    stored: u32,
}

impl Default for Options {
    fn default() -> Options {
        let on = ["ANSI_NULLS", "ANSI_PADDING", "ANSI_WARNINGS", "ARITHABORT", "CONCAT_NULL_YIELDS_NULL"];
        let stored = on.iter().filter_map(|name| stored_bit(name)).fold(0, |bits, bit| bits | bit);
        Options {
            no_count: false,
            xact_abort: false,
            implicit_transactions: false,
            quoted_identifier: true,
            lock_timeout: None,
            isolation: IsolationLevel::ReadCommitted,
            text_size: 2_147_483_647,
            date_first: 7,
            stored,
        }
    }
}

/// Switches that are kept and shown in `@@OPTIONS` but change nothing here, with their bit there (0 for none).
const STORED: [(&str, i32); 13] = [
    ("ANSI_NULLS", 32),
    ("ANSI_PADDING", 16),
    ("ANSI_WARNINGS", 8),
    ("ARITHABORT", 64),
    ("ARITHIGNORE", 128),
    ("CONCAT_NULL_YIELDS_NULL", 4096),
    ("CURSOR_CLOSE_ON_COMMIT", 4),
    ("NUMERIC_ROUNDABORT", 8192),
    ("ANSI_NULL_DFLT_ON", 1024),
    ("ANSI_NULL_DFLT_OFF", 2048),
    ("DISABLE_DEF_CNST_CHK", 1),
    ("REMOTE_PROC_TRANSACTIONS", 0),
    ("FORCEPLAN", 0),
];

/// Switches whose ON asks for something the emulator does not do.
const REFUSED_ON: [&str; 6] =
    ["FMTONLY", "NOEXEC", "PARSEONLY", "SHOWPLAN_ALL", "SHOWPLAN_TEXT", "SHOWPLAN_XML"];

/// Switches whose OFF would change results.
const REFUSED_OFF: [&str; 2] = ["ANSI_NULLS", "CONCAT_NULL_YIELDS_NULL"];

/// What ANSI_DEFAULTS stands for.
const ANSI_DEFAULTS: [&str; 6] = [
    "ANSI_NULLS",
    "ANSI_NULL_DFLT_ON",
    "ANSI_PADDING",
    "ANSI_WARNINGS",
    "CURSOR_CLOSE_ON_COMMIT",
    "QUOTED_IDENTIFIER",
];

impl Options {
    /// Sets a switch by its name in upper case.
    ///
    /// # Errors
    /// 195 for an unknown name, 40510 for a setting that is not obeyed.
    pub(crate) fn switch(&mut self, name: &str, on: bool) -> Result<(), SqlError> {
        let refused = if on { REFUSED_ON.contains(&name) } else { REFUSED_OFF.contains(&name) };
        if refused {
            return Err(SqlError::unsupported(format_args!("SET {name} {}", if on { "ON" } else { "OFF" })));
        }
        match name {
            "NOCOUNT" => self.no_count = on,
            "XACT_ABORT" => self.xact_abort = on,
            "IMPLICIT_TRANSACTIONS" => self.implicit_transactions = on,
            "QUOTED_IDENTIFIER" => self.quoted_identifier = on,
            "ANSI_DEFAULTS" => {
                self.implicit_transactions = on;
                return ANSI_DEFAULTS.iter().try_for_each(|name| self.switch(name, on));
            }
            name => return self.store(name, on),
        }
        Ok(())
    }

    /// Sets LOCK_TIMEOUT in milliseconds; negative means without end.
    pub(crate) fn set_lock_timeout(&mut self, milliseconds: i64) {
        self.lock_timeout = u64::try_from(milliseconds).ok().map(Duration::from_millis);
    }

    /// `@@OPTIONS`: the bits of everything that is on.
    pub(crate) fn bits(&self) -> i32 {
        let own = [
            (self.implicit_transactions, 2),
            (self.quoted_identifier, 256),
            (self.no_count, 512),
            (self.xact_abort, 16384),
        ];
        let stored = STORED.iter().map(|(name, bit)| (self.is_on(name), *bit));
        own.into_iter().chain(stored).filter(|(on, _)| *on).fold(0, |bits, (_, bit)| bits | bit)
    }

    fn store(&mut self, name: &str, on: bool) -> Result<(), SqlError> {
        let ignored = name.starts_with("STATISTICS ") || REFUSED_ON.contains(&name);
        match stored_bit(name) {
            Some(bit) if on => self.stored |= bit,
            Some(bit) => self.stored &= !bit,
            None if ignored => {}
            None => return Err(super::errors::unknown_option(name)),
        }
        Ok(())
    }

    fn is_on(&self, name: &str) -> bool {
        stored_bit(name).is_some_and(|bit| self.stored & bit != 0)
    }
}

fn stored_bit(name: &str) -> Option<u32> {
    STORED.iter().position(|(known, _)| *known == name).map(|at| 1 << at)
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn the_lists_that_drivers_send_are_accepted() {
        let mut options = Options::default();
        let on = ["ARITHABORT", "CONCAT_NULL_YIELDS_NULL", "ANSI_NULLS", "ANSI_NULL_DFLT_ON", "ANSI_PADDING"];
        for name in on.iter().chain(&["ANSI_WARNINGS", "CURSOR_CLOSE_ON_COMMIT", "QUOTED_IDENTIFIER"]) {
            options.switch(name, true).unwrap();
        }
        for name in ["IMPLICIT_TRANSACTIONS", "NUMERIC_ROUNDABORT", "XACT_ABORT", "CURSOR_CLOSE_ON_COMMIT"] {
            options.switch(name, false).unwrap();
        }
    }

    #[test]
    fn options_show_as_bits() {
        let mut options = Options::default();
        assert_eq!(options.bits(), 8 + 16 + 32 + 64 + 256 + 4096);
        options.switch("NOCOUNT", true).unwrap();
        options.switch("XACT_ABORT", true).unwrap();
        assert_eq!(options.bits() & (512 | 16384), 512 | 16384);
    }

    #[test]
    fn unknown_and_disobeyed_options_are_errors() {
        let mut options = Options::default();
        assert_eq!(options.switch("NO_SUCH_OPTION", true).unwrap_err().number, 195);
        assert_eq!(options.switch("NOEXEC", true).unwrap_err().number, 40510);
        assert_eq!(options.switch("ANSI_NULLS", false).unwrap_err().number, 40510);
        options.switch("NOEXEC", false).unwrap();
        options.switch("STATISTICS IO", true).unwrap();
    }
}
