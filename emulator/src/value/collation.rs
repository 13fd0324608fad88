//! Collations: how texts compare and which code page their non-Unicode form has.

/// The collations the emulator knows. Both use code page 1252 for non-Unicode text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Collation {
    /// `SQL_Latin1_General_CP1_CI_AS`: case is ignored, accents count. The default of server and databases.
    #[default]
    CaseInsensitive,
    /// `Latin1_General_BIN`: code units are compared; names of services, contracts and message types use it (U-45).
    Binary,
}

impl Collation {
    /// The default collation of the server, its databases and of literals.
    pub const DEFAULT: Collation = Collation::CaseInsensitive;

    /// The collation's name as T-SQL writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Collation::CaseInsensitive => "SQL_Latin1_General_CP1_CI_AS",
            Collation::Binary => "Latin1_General_BIN",
        }
    }

    /// The collation of that name, compared without case.
    pub fn by_name(name: &str) -> Option<Collation> {
        let known = [
            ("SQL_Latin1_General_CP1_CI_AS", Collation::CaseInsensitive),
            ("Latin1_General_CI_AS", Collation::CaseInsensitive),
            ("Latin1_General_BIN", Collation::Binary),
            ("Latin1_General_BIN2", Collation::Binary),
        ];
        known.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, collation)| *collation)
    }

    /// The five bytes that stand for the collation on the wire (MS-TDS 2.2.5.1.2). The binary one goes with sort order 50,
    /// binary order of code page 1252: without a sort order SqlClient asks its system for the code page of the locale, and
    /// breaks the connection where that has none.
    pub const fn wire_bytes(self) -> [u8; 5] {
        match self {
            Collation::CaseInsensitive => [0x09, 0x04, 0xD0, 0x00, 0x34],
            Collation::Binary => [0x09, 0x04, 0x00, 0x01, 0x32],
        }
    }
}
