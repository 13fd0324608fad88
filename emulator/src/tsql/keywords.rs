//! The reserved words of T-SQL, and how a word of the text is found among them.
//!
//! Reserved words are the boundary between statements: none of them is ever taken as an alias. Words that
//! are not reserved (`SEND`, `RECEIVE`, `OUTPUT`, `THROW`, ..) are compared as text where the grammar asks
//! for them, and so are not in this table. The list is the one Microsoft documents under "Reserved keywords",
//! less `DISK`, `DUMP`, `LOAD`, `PRECISION`, `SECURITYAUDIT` and `WITHIN`, which its own parser takes as names.

macro_rules! reserved_words {
    ($($name:ident = $text:literal,)+) => {
        /// A reserved word.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Keyword {
            $(
                #[doc = concat!("`", $text, "`")]
                $name,
            )+
        }

        impl Keyword {
            const ALL: &[Keyword] = &[$(Keyword::$name,)+];
        }

        const TEXTS: &[&str] = &[$($text,)+];
    };
}

impl Keyword {
    /// The reserved word that `text` is, in any case.
    pub(crate) fn find(text: &str) -> Option<Keyword> {
        if text.len() > LONGEST || text.len() < SHORTEST {
            return None;
        }
        let mut slot = hash(text.as_bytes());
        while let Some(index) = SLOTS[slot].checked_sub(1) {
            let index = usize::from(index);
            if TEXTS[index].eq_ignore_ascii_case(text) {
                return Some(Keyword::ALL[index]);
            }
            slot = (slot + 1) % SLOT_COUNT;
        }
        None
    }

    /// The word in upper case.
    pub(crate) fn text(self) -> &'static str {
        TEXTS[self as usize]
    }
}

const SHORTEST: usize = 2;
const LONGEST: usize = 31;
const SLOT_COUNT: usize = 1024;

/// Open addressing: one more than an index into the table of words, or zero for an empty slot.
static SLOTS: [u8; SLOT_COUNT] = slots();

const fn slots() -> [u8; SLOT_COUNT] {
    let mut slots = [0; SLOT_COUNT];
    let mut index = 0;
    while index < TEXTS.len() {
        let mut slot = hash(TEXTS[index].as_bytes());
        while slots[slot] != 0 {
            slot = (slot + 1) % SLOT_COUNT;
        }
        index += 1;
        slots[slot] = index as u8;
    }
    slots
}

/// FNV-1a over the upper-case bytes.
const fn hash(text: &[u8]) -> usize {
    let mut hash: u32 = 0x811c_9dc5;
    let mut index = 0;
    while index < text.len() {
        hash = (hash ^ text[index].to_ascii_uppercase() as u32).wrapping_mul(0x0100_0193);
        index += 1;
    }
    (hash ^ (hash >> 16)) as usize % SLOT_COUNT
}

reserved_words! {
    Add = "ADD",
    All = "ALL",
    Alter = "ALTER",
    And = "AND",
    Any = "ANY",
    As = "AS",
    Asc = "ASC",
    Authorization = "AUTHORIZATION",
    Backup = "BACKUP",
    Begin = "BEGIN",
    Between = "BETWEEN",
    Break = "BREAK",
    Browse = "BROWSE",
    Bulk = "BULK",
    By = "BY",
    Cascade = "CASCADE",
    Case = "CASE",
    Check = "CHECK",
    Checkpoint = "CHECKPOINT",
    Close = "CLOSE",
    Clustered = "CLUSTERED",
    Coalesce = "COALESCE",
    Collate = "COLLATE",
    Column = "COLUMN",
    Commit = "COMMIT",
    Compute = "COMPUTE",
    Constraint = "CONSTRAINT",
    Contains = "CONTAINS",
    Containstable = "CONTAINSTABLE",
    Continue = "CONTINUE",
    Convert = "CONVERT",
    Create = "CREATE",
    Cross = "CROSS",
    Current = "CURRENT",
    CurrentDate = "CURRENT_DATE",
    CurrentTime = "CURRENT_TIME",
    CurrentTimestamp = "CURRENT_TIMESTAMP",
    CurrentUser = "CURRENT_USER",
    Cursor = "CURSOR",
    Database = "DATABASE",
    Dbcc = "DBCC",
    Deallocate = "DEALLOCATE",
    Declare = "DECLARE",
    Default = "DEFAULT",
    Delete = "DELETE",
    Deny = "DENY",
    Desc = "DESC",
    Distinct = "DISTINCT",
    Distributed = "DISTRIBUTED",
    Double = "DOUBLE",
    Drop = "DROP",
    Else = "ELSE",
    End = "END",
    Errlvl = "ERRLVL",
    Escape = "ESCAPE",
    Except = "EXCEPT",
    Exec = "EXEC",
    Execute = "EXECUTE",
    Exists = "EXISTS",
    Exit = "EXIT",
    External = "EXTERNAL",
    Fetch = "FETCH",
    File = "FILE",
    Fillfactor = "FILLFACTOR",
    For = "FOR",
    Foreign = "FOREIGN",
    Freetext = "FREETEXT",
    Freetexttable = "FREETEXTTABLE",
    From = "FROM",
    Full = "FULL",
    Function = "FUNCTION",
    Goto = "GOTO",
    Grant = "GRANT",
    Group = "GROUP",
    Having = "HAVING",
    Holdlock = "HOLDLOCK",
    Identity = "IDENTITY",
    Identitycol = "IDENTITYCOL",
    IdentityInsert = "IDENTITY_INSERT",
    If = "IF",
    In = "IN",
    Index = "INDEX",
    Inner = "INNER",
    Insert = "INSERT",
    Intersect = "INTERSECT",
    Into = "INTO",
    Is = "IS",
    Join = "JOIN",
    Key = "KEY",
    Kill = "KILL",
    Left = "LEFT",
    Like = "LIKE",
    Lineno = "LINENO",
    Merge = "MERGE",
    National = "NATIONAL",
    Nocheck = "NOCHECK",
    Nonclustered = "NONCLUSTERED",
    Not = "NOT",
    Null = "NULL",
    Nullif = "NULLIF",
    Of = "OF",
    Off = "OFF",
    Offsets = "OFFSETS",
    On = "ON",
    Open = "OPEN",
    Opendatasource = "OPENDATASOURCE",
    Openquery = "OPENQUERY",
    Openrowset = "OPENROWSET",
    Openxml = "OPENXML",
    Option = "OPTION",
    Or = "OR",
    Order = "ORDER",
    Outer = "OUTER",
    Over = "OVER",
    Percent = "PERCENT",
    Pivot = "PIVOT",
    Plan = "PLAN",
    Primary = "PRIMARY",
    Print = "PRINT",
    Proc = "PROC",
    Procedure = "PROCEDURE",
    Public = "PUBLIC",
    Raiserror = "RAISERROR",
    Read = "READ",
    Readtext = "READTEXT",
    Reconfigure = "RECONFIGURE",
    References = "REFERENCES",
    Replication = "REPLICATION",
    Restore = "RESTORE",
    Restrict = "RESTRICT",
    Return = "RETURN",
    Revert = "REVERT",
    Revoke = "REVOKE",
    Right = "RIGHT",
    Rollback = "ROLLBACK",
    Rowcount = "ROWCOUNT",
    Rowguidcol = "ROWGUIDCOL",
    Rule = "RULE",
    Save = "SAVE",
    Schema = "SCHEMA",
    Select = "SELECT",
    Semantickeyphrasetable = "SEMANTICKEYPHRASETABLE",
    Semanticsimilaritydetailstable = "SEMANTICSIMILARITYDETAILSTABLE",
    Semanticsimilaritytable = "SEMANTICSIMILARITYTABLE",
    SessionUser = "SESSION_USER",
    Set = "SET",
    Setuser = "SETUSER",
    Shutdown = "SHUTDOWN",
    Some = "SOME",
    Statistics = "STATISTICS",
    Stoplist = "STOPLIST",
    SystemUser = "SYSTEM_USER",
    Table = "TABLE",
    Tablesample = "TABLESAMPLE",
    Textsize = "TEXTSIZE",
    Then = "THEN",
    To = "TO",
    Top = "TOP",
    Tran = "TRAN",
    Transaction = "TRANSACTION",
    Trigger = "TRIGGER",
    Truncate = "TRUNCATE",
    TryConvert = "TRY_CONVERT",
    Tsequal = "TSEQUAL",
    Union = "UNION",
    Unique = "UNIQUE",
    Unpivot = "UNPIVOT",
    Update = "UPDATE",
    Updatetext = "UPDATETEXT",
    Use = "USE",
    User = "USER",
    Values = "VALUES",
    Varying = "VARYING",
    View = "VIEW",
    Waitfor = "WAITFOR",
    When = "WHEN",
    Where = "WHERE",
    While = "WHILE",
    With = "WITH",
    Writetext = "WRITETEXT",
}

#[cfg(test)]
mod tests {
    use super::{Keyword, LONGEST, SHORTEST, TEXTS};

    #[test]
    fn every_word_finds_itself_in_any_case() {
        for (index, text) in TEXTS.iter().enumerate() {
            assert_eq!(Keyword::find(text), Some(Keyword::ALL[index]), "{text}");
            assert_eq!(Keyword::find(&text.to_lowercase()), Some(Keyword::ALL[index]), "{text}");
            assert_eq!(Keyword::ALL[index].text(), *text);
            assert!((SHORTEST..=LONGEST).contains(&text.len()), "{text}");
        }
    }

    #[test]
    fn the_table_fits_its_index_type() {
        assert!(TEXTS.len() < usize::from(u8::MAX));
    }

    #[test]
    fn broker_verbs_and_other_words_are_not_reserved() {
        for text in ["SEND", "RECEIVE", "GET", "MOVE", "THROW", "OUTPUT", "s", "", "conversation", "größe"]
        {
            assert_eq!(Keyword::find(text), None, "{text}");
        }
    }
}
