//! The server error numbers a Service Broker client can meet, as named constants, each with its kind and advice.
//!
//! One row of [`CATALOGUE`] per number, so that no bare number stands in the library's logic. Source: section 9 of the
//! Service Broker specification (Microsoft's error lists of 2022-08), wording ours; numbers of the engine around it, as the
//! embedded broker raises them and as availability groups and Azure document them. The table is the reason for this
//! file's length. Nothing here knows how an error arrives.

use super::error::ErrorKind;

/// What a program, or the person who runs it, should do about a server error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// Do the same thing again, after a pause.
    Retry,
    /// Connect again, to the listener's name: the database is somewhere else now.
    Reconnect,
    /// End this dialog and go on with a new one.
    ReplaceDialog,
    /// Stop reading the queue until somebody has looked at its poison message and switched it on again.
    StopQueue,
    /// A permission is missing: have it granted.
    FixGrant,
    /// A database object or setting is missing or wrong: correct the set-up.
    FixSetup,
    /// The statement or its arguments are wrong: correct the program.
    FixCall,
    /// Roll the transaction back: nothing more can be done in it.
    RollBack,
    /// Nothing a program can do helps; an administrator has to look at the server.
    GiveUp,
}

impl Advice {
    /// The advice as half a sentence.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Retry => "try again after a pause",
            Self::Reconnect => "connect again, to the listener's name",
            Self::ReplaceDialog => "end this dialog and begin a new one",
            Self::StopQueue => "find the poison message, then switch the queue on again",
            Self::FixGrant => "have the missing permission granted",
            Self::FixSetup => "correct the database objects or settings",
            Self::FixCall => "correct the call",
            Self::RollBack => "roll the transaction back",
            Self::GiveUp => "an administrator has to look at the server",
        }
    }
}

/// One row of the catalogue.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ServerCode {
    /// The number in `sys.messages`. Inside an Error message the same number appears negated.
    pub number: u32,
    /// What it means, in our words.
    pub meaning: &'static str,
    /// The kind the library's [`Error`](super::Error) gets.
    pub kind: ErrorKind,
    /// What to do.
    pub advice: Advice,
}

/// The row of a number, or `None` for a number outside the catalogue.
#[must_use]
pub fn lookup(number: u32) -> Option<&'static ServerCode> {
    CATALOGUE.binary_search_by_key(&number, |code| code.number).ok().map(|at| &CATALOGUE[at])
}

/// Whether messages still unsent when a dialog failed with this Error code may be sent again on a new dialog.
///
/// Takes the code of an Error message, which the broker makes negative (specification section 2.12). The positive codes
/// belong to the peer's program, which alone knows.
#[must_use]
pub fn is_resendable(error_code: i32) -> bool {
    const RESENDABLE: [u32; 5] = [
        DIALOG_LIFETIME_EXPIRED,
        REMOTE_ENDPOINT_GONE,
        BROKER_RESTORED_HERE,
        BROKER_RESTORED_THERE,
        SESSION_KEY_LOST,
    ];
    error_code < 0 && RESENDABLE.contains(&error_code.unsigned_abs())
}

macro_rules! catalogue {
    ($($name:ident = $number:literal, $kind:ident, $advice:ident, $meaning:literal;)*) => {
        $(
            #[doc = concat!("Error ", stringify!($number), ": ", $meaning, ".")]
            pub const $name: u32 = $number;
        )*

        /// Every known number, in ascending order.
        pub static CATALOGUE: &[ServerCode] = &[
            $(ServerCode {
                number: $number,
                meaning: $meaning,
                kind: ErrorKind::$kind,
                advice: Advice::$advice,
            },)*
        ];
    };
}

catalogue! {
    SYNTAX_ERROR = 102, Statement, FixCall, "syntax error";
    ORDER_BY_NOT_IN_UNION = 104, Statement, FixCall, "ORDER BY names a column that a UNION does not select";
    PREFIX_UNKNOWN = 107, Statement, FixCall, "a column prefix names no table of the query";
    ORDER_BY_POSITION = 108, Statement, FixCall, "an ORDER BY position is out of range";
    INSERT_FEWER_VALUES = 109, Statement, FixCall, "INSERT names more columns than it has values";
    INSERT_MORE_VALUES = 110, Statement, FixCall, "INSERT has more values than it names columns";
    SUBQUERY_COLUMNS = 116, Statement, FixCall, "a subquery has more than one column";
    POSITIONAL_AFTER_NAMED = 119, Statement, FixCall, "a positional argument follows a named one";
    INSERT_SELECT_FEWER = 120, Statement, FixCall, "the query of INSERT has too few columns";
    INSERT_SELECT_MORE = 121, Statement, FixCall, "the query of INSERT has too many columns";
    TOP_VALUE_INVALID = 127, Statement, FixCall, "the row count of TOP is not valid";
    LENGTH_TOO_LARGE = 131, Statement, FixCall, "the length given to a type is too large";
    LABEL_TWICE = 132, Statement, FixCall, "a label is set twice";
    LABEL_UNKNOWN = 133, Statement, FixCall, "GOTO names an unknown label";
    VARIABLE_TWICE = 134, Statement, FixCall, "a variable is declared twice";
    BREAK_OUTSIDE_LOOP = 135, Statement, FixCall, "BREAK stands outside a loop";
    CONTINUE_OUTSIDE_LOOP = 136, Statement, FixCall, "CONTINUE stands outside a loop";
    VARIABLE_NOT_DECLARED = 137, Statement, FixCall, "a variable is not declared";
    ASSIGNMENT_WITH_RETRIEVAL = 141, Statement, FixCall, "SELECT mixes assignment with retrieval";
    AGGREGATE_MISPLACED_IN_GROUP = 144, Statement, FixCall, "an aggregate stands in a list of groups";
    ORDER_BY_NOT_SELECTED = 145, Statement, FixCall, "ORDER BY names a column that SELECT DISTINCT does not select";
    AGGREGATE_MISPLACED = 147, Statement, FixCall, "an aggregate stands where none may";
    WAITFOR_TIME_INVALID = 148, Statement, FixCall, "the time of WAITFOR is malformed";
    USE_MISPLACED = 154, Statement, FixCall, "USE stands in a procedure";
    OPTION_UNKNOWN = 155, Statement, FixCall, "an option of a function is unknown";
    SYNTAX_ERROR_NEAR_KEYWORD = 156, Statement, FixCall, "syntax error near a keyword";
    ARGUMENT_COUNT = 174, Statement, FixCall, "a function has the wrong number of arguments";
    RETURN_VALUE_MISPLACED = 178, Statement, FixCall, "RETURN with a value stands outside a procedure";
    ARGUMENT_COUNT_RANGE = 189, Statement, FixCall, "a function has too few or too many arguments";
    FUNCTION_UNKNOWN = 195, Statement, FixCall, "a function is unknown";
    PARAMETER_MISSING = 201, Statement, FixCall, "a procedure was called without a parameter it needs";
    UNION_WIDTH = 205, Statement, FixCall, "combined queries have different numbers of columns";
    TYPE_CLASH = 206, Statement, FixCall, "two types cannot be combined";
    COLUMN_UNKNOWN = 207, Statement, FixCall, "a column is unknown";
    OBJECT_NOT_FOUND = 208, ObjectMissing, FixSetup, "queue or table not found";
    COLUMN_AMBIGUOUS = 209, Statement, FixCall, "a column name is ambiguous";
    INSERT_COLUMNS_MISMATCH = 213, Statement, FixCall, "the values do not match the table";
    ARGUMENT_TYPE = 214, Statement, FixCall, "a procedure expects another type";
    NESTING_TOO_DEEP = 217, Statement, FixCall, "procedures nest too deep";
    INTEGER_OVERFLOW = 220, Statement, FixCall, "a number does not fit its type";
    NOT_IN_TRANSACTION = 226, Statement, FixCall, "the statement is not allowed inside a transaction";
    PERMISSION_DENIED = 229, PermissionDenied, FixGrant, "permission denied on an object";
    COLUMN_PERMISSION_DENIED = 230, PermissionDenied, FixGrant, "permission denied on a column";
    DATE_TEXT_INVALID = 241, Statement, FixCall, "a text is not a date";
    DATE_OUT_OF_RANGE = 242, Statement, FixCall, "a date is out of the range of its type";
    CONVERSION_FAILED = 245, Statement, FixCall, "a text cannot be converted to a number";
    IMPLICIT_CONVERSION = 257, Statement, FixCall, "an implicit conversion is not allowed";
    STATEMENT_PERMISSION_DENIED = 262, PermissionDenied, FixGrant, "permission denied in the database";
    NO_SOURCE_TABLE = 263, Statement, FixCall, "a query names no table";
    COLUMN_SET_TWICE = 264, Statement, FixCall, "a column is named twice";
    TRANSACTION_COUNT_MISMATCH = 266, Statement, FixCall, "a procedure or sp_executesql left with another transaction count than it began with";
    COMPUTED_COLUMN = 271, Statement, FixCall, "a computed column cannot be changed";
    TIMESTAMP_COLUMN = 272, Statement, FixCall, "a timestamp column cannot be changed";
    TIMESTAMP_VALUE = 273, Statement, FixCall, "a timestamp column takes no value";
    STYLE_INVALID = 281, Statement, FixCall, "the style of a conversion is not valid";
    DATE_PARTS_INVALID = 289, Statement, FixCall, "the parts make no date";
    ACTION_PERMISSION_DENIED = 297, PermissionDenied, FixGrant, "no permission for this action";
    SERVER_PERMISSION_DENIED = 300, PermissionDenied, FixGrant, "server permission denied";
    ESCAPE_INVALID = 310, Statement, FixCall, "the ESCAPE of LIKE is not one character";
    TYPES_INCOMPATIBLE = 402, Statement, FixCall, "two types are incompatible in an operator";
    COLLATION_UNKNOWN = 448, Statement, FixCall, "a collation is unknown";
    COLLATION_CONFLICT = 468, Statement, FixCall, "two collations conflict";
    ESCAPE_CHARACTER = 506, Statement, FixCall, "the escape character of LIKE is not valid";
    SUBQUERY_ROWS = 512, Statement, FixCall, "a subquery answered more than one row";
    NULL_NOT_ALLOWED = 515, Statement, FixCall, "a column does not take NULL";
    DATE_OVERFLOW = 517, Statement, FixCall, "a date moved out of its range";
    EXPLICIT_CONVERSION = 529, Statement, FixCall, "an explicit conversion does not exist";
    DATEDIFF_OVERFLOW = 535, Statement, FixCall, "a difference of dates does not fit";
    LENGTH_ARGUMENT = 537, Statement, FixCall, "a length is not valid";
    IDENTITY_INSERT_OFF = 544, Statement, FixCall, "an identity column takes no value";
    CONSTRAINT_VIOLATED = 547, Statement, FixCall, "a constraint is violated";
    SESSION_KILLED = 596, ConnectionLost, Retry, "the session was killed";
    NO_TRANSACTION_TO_SAVE = 628, Statement, FixCall, "SAVE TRANSACTION without a transaction";
    OUT_OF_MEMORY = 701, Transient, Retry, "not enough memory";
    DATABASE_NOT_FOUND = 911, ObjectMissing, FixSetup, "database not found";
    DATABASE_ACCESS_DENIED = 916, PermissionDenied, FixGrant, "the login has no user in the database";
    DATABASE_RECOVERING = 922, Transient, Retry, "the database is being recovered";
    DATABASE_IN_SINGLE_USER_MODE = 924, LoginFailed, Retry, "the database is in single-user mode and somebody is in it";
    DATABASE_RESTORING = 927, Transient, Retry, "the database is being restored";
    DATABASE_OFFLINE = 942, LoginFailed, FixSetup, "the database is offline";
    DATABASE_IN_TRANSITION = 952, Transient, Retry, "the database is changing its state";
    DATABASE_NOT_JOINED = 976, Failover, Reconnect, "the database takes part in an availability group and cannot be read here";
    SECONDARY_NEEDS_READ_INTENT = 978, Failover, Reconnect, "the secondary replica takes connections with read intent only";
    SECONDARY_CLOSED = 979, Failover, Reconnect, "the secondary replica takes no connections";
    SECONDARY_NOT_READABLE = 982, Failover, Reconnect, "no readable secondary replica is available";
    REPLICA_ROLE_IN_TRANSITION = 983, Failover, Reconnect, "the replica is neither primary nor secondary at the moment";
    LENGTH_INVALID = 1001, Statement, FixCall, "a length or precision is not valid";
    NUMBER_TOO_LONG = 1007, Statement, FixCall, "a number has too many digits";
    ALIAS_TWICE = 1011, Statement, FixCall, "an alias is used twice";
    POSITION_INVALID = 1023, Statement, FixCall, "a parameter of a function is not valid";
    GOTO_INTO_TRY = 1026, Statement, FixCall, "GOTO leads into a TRY block";
    PERCENT_RANGE = 1031, Statement, FixCall, "a percentage is out of range";
    ROW_COUNT_INVALID = 1060, Statement, FixCall, "a row count is not a whole number";
    TABLE_VARIABLE_UNKNOWN = 1087, Statement, FixCall, "a table variable is not declared";
    DATABASE_FULL = 1105, Transient, Retry, "the filegroup is full";
    LOCKS_EXHAUSTED = 1204, Transient, Retry, "the server has no lock left";
    DEADLOCK_VICTIM = 1205, Transient, Retry, "the transaction was chosen as deadlock victim and rolled back";
    LOCK_TIMEOUT = 1222, Transient, Retry, "a lock was not granted in time";
    APPLICATION_LOCK_NOT_HELD = 1223, Statement, FixCall, "an application lock is given up that is not held";
    APPLICATION_LOCK_MODE = 1228, Statement, FixCall, "an argument of an application lock is not valid";
    DUPLICATE_WHILE_INDEXING = 1505, Statement, FixSetup, "rows with the same key stand against a unique index";
    OBJECT_EXISTS_DATABASE = 1801, Statement, FixSetup, "the database exists already";
    COLUMN_UNKNOWN_IN_KEY = 1911, Statement, FixCall, "a key names an unknown column";
    INDEX_EXISTS = 1913, Statement, FixSetup, "an index of that name exists already";
    DUPLICATE_IN_INDEX = 2601, Statement, FixCall, "a unique index has such a row already";
    DUPLICATE_KEY = 2627, Statement, FixCall, "a key has such a row already";
    VALUE_TRUNCATED = 2628, Statement, FixCall, "a value is too long for its column";
    COLUMN_NAMES_UNIQUE = 2705, Statement, FixSetup, "a table would have a column name twice";
    OBJECT_EXISTS = 2714, Statement, FixSetup, "an object of that name exists already";
    TYPE_UNKNOWN = 2715, Statement, FixCall, "a data type is unknown";
    TYPE_WITHOUT_LENGTH = 2716, Statement, FixCall, "a type takes no length";
    RAISERROR_NUMBER = 2732, Statement, FixCall, "the number of RAISERROR is not allowed";
    IDENTITY_TWICE = 2744, Statement, FixCall, "a table has two identity columns";
    SESSION_TERMINATED = 2745, ConnectionLost, Retry, "the session ends because of an error of high severity";
    SUBSTITUTIONS_TOO_MANY = 2747, Statement, FixCall, "RAISERROR has too many arguments";
    SUBSTITUTION_TYPE = 2748, Statement, FixCall, "an argument of RAISERROR has the wrong type";
    IDENTITY_TYPE = 2749, Statement, FixCall, "an identity column is not of a whole number";
    PRECISION_TOO_LARGE = 2750, Statement, FixCall, "a precision is too large";
    SCALE_TOO_LARGE = 2751, Statement, FixCall, "a scale is too large";
    SEVERITY_NEEDS_LOG = 2754, Statement, FixCall, "the severity of RAISERROR needs WITH LOG";
    STATE_OUT_OF_RANGE = 2756, Statement, FixCall, "the state of RAISERROR is out of range";
    SCHEMA_UNKNOWN = 2760, Statement, FixSetup, "a schema is unknown or not permitted";
    SUBSTITUTION_MISMATCH = 2786, Statement, FixCall, "an argument of RAISERROR does not fit its place";
    FORMAT_SPECIFICATION = 2787, Statement, FixCall, "a place in a message is not understood";
    PROCEDURE_UNKNOWN = 2812, Statement, FixSetup, "a stored procedure is unknown";
    FLOATING_POINT_INVALID = 3623, Statement, FixCall, "a floating point operation is not valid";
    DROP_TARGET_UNKNOWN = 3701, Statement, FixSetup, "what is to be dropped does not exist or is not permitted";
    DATABASE_IN_USE = 3702, Transient, Retry, "the database is in use";
    SYSTEM_OBJECT_DROP = 3708, Statement, FixSetup, "a system object cannot be dropped";
    OBJECT_IN_USE = 3716, Statement, FixSetup, "the object cannot be dropped because others are bound to it";
    INDEX_OF_CONSTRAINT = 3723, Statement, FixSetup, "the index belongs to a constraint";
    NOT_A_CONSTRAINT = 3728, Statement, FixSetup, "there is no constraint of that name";
    SCHEMA_NOT_EMPTY = 3729, Statement, FixSetup, "a schema cannot be dropped while objects are in it";
    NO_TRANSACTION_TO_COMMIT = 3902, Statement, FixCall, "COMMIT without a transaction";
    NO_TRANSACTION_TO_ROLL_BACK = 3903, Statement, FixCall, "ROLLBACK without a transaction";
    DATABASE_READ_ONLY = 3906, Failover, Reconnect, "the database is read-only here";
    READ_ONLY_FILEGROUP = 3908, Failover, Reconnect, "the database is in emergency or read-only state";
    TRANSACTION_DOOMED = 3930, TransactionDoomed, RollBack, "the transaction is doomed and cannot write any more";
    DOOMED_AT_SAVEPOINT = 3931, TransactionDoomed, RollBack, "a doomed transaction cannot be rolled back to a savepoint";
    SNAPSHOT_CONFLICT = 3960, Transient, Retry, "a snapshot transaction met a changed row";
    TEMPDB_VERSION_STORE_FULL = 3966, Transient, Retry, "the version store was full and the transaction was rolled back";
    TRANSACTION_DOOMED_AT_BATCH_END = 3998, TransactionDoomed, RollBack, "the transaction was doomed and the server rolled it back at the end of the batch";
    TDS_STREAM_INVALID = 4002, Statement, FixCall, "the request is not understood";
    DATABASE_UNAVAILABLE = 4060, LoginFailed, FixSetup, "the database cannot be opened by this login";
    IDENTIFIER_UNBOUND = 4104, Statement, FixCall, "a qualified name is bound to nothing";
    FUNCTION_OR_COLUMN_UNKNOWN = 4121, Statement, FixCall, "a qualified function is unknown";
    LOGIN_WAITS_FOR_RECOVERY = 4221, Failover, Reconnect, "the secondary replica cannot take logins yet";
    INSERT_DERIVED_COLUMN = 4406, Statement, FixCall, "a derived column cannot be changed";
    COLUMN_NEEDS_DEFAULT = 4901, Statement, FixSetup, "a new column has no value for the rows there are";
    COLUMN_TO_ALTER_UNKNOWN = 4924, Statement, FixSetup, "there is no column of that name to alter or drop";
    DATABASE_NOT_ALTERABLE = 5011, Statement, FixSetup, "the database cannot be altered";
    DATABASE_OPTION_FIXED = 5058, Statement, FixSetup, "the option cannot be set in this database";
    DATABASE_STATE_CHANGE_BLOCKED = 5070, Transient, Retry, "the database cannot change its state while others use it";
    COLUMN_IN_USE = 5074, Statement, FixSetup, "something depends on the column";
    SHUTDOWN_IN_PROGRESS = 6005, ConnectionLost, Retry, "the server is shutting down";
    KILL_SELF = 6104, Statement, FixCall, "KILL cannot end its own session";
    PROCESS_UNKNOWN = 6106, Statement, FixCall, "KILL names no session";
    SAVEPOINT_NOT_FOUND = 6401, TransactionDoomed, RollBack, "there is no savepoint of that name in the transaction";
    IDENTITY_UPDATE = 8102, Statement, FixCall, "an identity column cannot be changed";
    PRIMARY_KEY_TWICE = 8110, Statement, FixCall, "a table has two primary keys";
    CONVERSION_ERROR = 8114, Statement, FixCall, "a value cannot be converted";
    ARITHMETIC_OVERFLOW = 8115, Statement, FixCall, "a result does not fit its type";
    ARGUMENT_TYPE_INVALID = 8116, Statement, FixCall, "an argument of a function has the wrong type";
    OPERAND_TYPE_INVALID = 8117, Statement, FixCall, "an operand has the wrong type";
    COLUMN_NOT_GROUPED = 8120, Statement, FixCall, "a column is neither grouped nor aggregated";
    CASE_ALL_NULL = 8133, Statement, FixCall, "all results of a CASE are NULL";
    DIVISION_BY_ZERO = 8134, Statement, FixCall, "division by zero";
    ARGUMENT_TWICE = 8143, Statement, FixCall, "an argument is given twice";
    ARGUMENTS_TOO_MANY = 8144, Statement, FixCall, "a procedure has too many arguments";
    PARAMETER_UNKNOWN = 8145, Statement, FixCall, "a procedure has no such parameter";
    COLUMN_WITHOUT_NAME = 8155, Statement, FixCall, "a column of a derived table has no name";
    COLUMN_NAME_TWICE = 8156, Statement, FixCall, "a derived table has a column name twice";
    COLUMN_LIST_SHORT = 8158, Statement, FixCall, "a derived table has more columns than names";
    COLUMN_LIST_LONG = 8159, Statement, FixCall, "a derived table has fewer columns than names";
    OUTPUT_NOT_DECLARED = 8162, Statement, FixCall, "OUTPUT is asked of a parameter that is not one";
    INSERT_EXEC_NESTED = 8164, Statement, FixCall, "INSERT of what a procedure returns cannot be nested";
    INVALID_UNIQUEIDENTIFIER = 8169, Statement, FixCall, "a string is not a uniqueidentifier";
    UNIQUEIDENTIFIER_TRUNCATED = 8170, Statement, FixCall, "a text is too short for a uniqueidentifier";
    QUERY_PARAMETER_MISSING = 8178, Statement, FixCall, "a query was run without a parameter it needs";
    PREPARED_HANDLE_UNKNOWN = 8179, Statement, FixCall, "a prepared handle is unknown";
    EVENT_NOTIFICATIONS_UNDELIVERABLE = 8355, BrokerDisabled, FixSetup, "event notifications of the server cannot be delivered because the broker is off in msdb";
    CANNOT_RECEIVE_FOR_USER = 8401, PermissionDenied, FixGrant, "the target user may not receive from the queue";
    WRONG_CLAUSE_TYPE = 8402, Statement, FixCall, "wrong data type for a clause";
    MESSAGE_TYPE_REPEATED = 8403, Statement, FixCall, "a message type is named twice";
    CONTRACT_REPEATED = 8404, Statement, FixCall, "a contract is named twice";
    CANNOT_DISABLE_POISONED_QUEUE = 8405, QueueDisabled, StopQueue, "a poisoned queue could not be disabled";
    LIFETIME_NULL = 8406, Statement, FixCall, "the dialog lifetime is NULL";
    HEADER_INVALID = 8407, MessageRefused, GiveUp, "a received message has invalid header fields";
    CONTRACT_NOT_OFFERED = 8408, MessageRefused, FixSetup, "the target service does not support the contract";
    CONTRACT_NOT_OFFERED_DROPPED = 8409, MessageRefused, FixSetup, "a message was dropped because the target service does not support its contract";
    TIMER_BEYOND_LIFETIME = 8410, Statement, FixCall, "the conversation timer lies beyond the lifetime of the dialog";
    LIFETIME_OUT_OF_RANGE = 8411, Statement, FixCall, "the dialog lifetime is out of range";
    SERVICE_NAME_MALFORMED = 8412, Statement, FixCall, "malformed service name";
    BROKER_INSTANCE_MALFORMED = 8413, Statement, FixCall, "malformed broker instance";
    GROUP_NOT_USABLE = 8414, Statement, FixCall, "the conversation group cannot be used here";
    ACTIVATED_TRANSACTION_LEFT_OPEN = 8415, Statement, FixCall, "an activated procedure left its own transaction open";
    CONTRACT_NAME_NULL = 8417, Statement, FixCall, "the contract name is NULL";
    HANDLE_MISSING = 8418, Statement, FixCall, "the conversation handle is missing";
    END_ERROR_INCOMPLETE = 8419, Statement, FixCall, "END CONVERSATION WITH ERROR needs a code and a description";
    GROUP_MISSING = 8420, Statement, FixCall, "the conversation group is missing";
    SERVICE_NAME_MISSING = 8421, Statement, FixCall, "the service name is missing";
    DESCRIPTION_MISSING = 8422, Statement, FixCall, "the error description is missing";
    SERVICE_NOT_FOUND = 8423, ObjectMissing, FixSetup, "service not found";
    ERROR_CODE_MISSING = 8424, Statement, FixCall, "error code and description are missing";
    CONTRACT_NOT_FOUND = 8425, ObjectMissing, FixSetup, "contract not found";
    CONVERSATION_NOT_FOUND = 8426, DialogOver, ReplaceDialog, "the conversation handle is not found";
    CANNOT_END_IN_STATE = 8427, DialogOver, ReplaceDialog, "the state of the conversation forbids END CONVERSATION";
    MESSAGE_TYPE_NOT_FOUND = 8428, ObjectMissing, FixSetup, "message type not found";
    CANNOT_SEND_IN_STATE = 8429, DialogOver, ReplaceDialog, "the state of the conversation forbids SEND";
    BODY_INVALID = 8430, MessageRefused, FixCall, "the body fails the validation of its message type";
    TYPE_NOT_IN_CONTRACT = 8431, MessageRefused, FixCall, "the message type is not in the contract";
    TYPE_SENT_BY_TARGET = 8432, MessageRefused, FixCall, "the initiator cannot send this message type";
    BODY_NULL = 8433, MessageRefused, FixCall, "the message body is NULL";
    TYPE_SENT_BY_INITIATOR = 8434, MessageRefused, FixCall, "the target cannot send this message type";
    GROUP_NOT_FOUND = 8436, Statement, FixCall, "the conversation group is not found";
    SENT_BY_WRONG_TARGET = 8437, MessageRefused, FixSetup, "received from the target although only the initiator may send this message type";
    CANNOT_MOVE_IN_STATE = 8438, DialogOver, ReplaceDialog, "the state of the conversation forbids MOVE CONVERSATION";
    DESTINATION_GROUP_INVALID = 8439, Statement, FixCall, "the destination group is invalid";
    GROUP_WITHOUT_QUEUE = 8440, Corrupt, GiveUp, "a conversation group exists without its queue";
    BROKER_NOT_ACTIVE = 8442, BrokerDisabled, FixSetup, "Service Broker is not active in this database";
    CONVERSATION_WITHOUT_GROUP = 8443, Corrupt, GiveUp, "a conversation refers to a missing group";
    QUEUE_INCONSISTENT = 8444, Corrupt, GiveUp, "the structure of a queue is inconsistent";
    CONVERSATION_ID_INVALID = 8445, DialogOver, ReplaceDialog, "the handle refers to an invalid conversation";
    RECEIVE_MIXES_ASSIGNMENT = 8447, Statement, FixCall, "RECEIVE mixes assignment with retrieval";
    RECEIVE_ASSIGNMENT_INTO = 8450, Statement, FixCall, "RECEIVE combines assignment with INTO";
    SENT_BY_WRONG_INITIATOR = 8457, MessageRefused, FixSetup, "received from the initiator although only the target may send this message type";
    CANNOT_START_TIMER_IN_STATE = 8458, DialogOver, ReplaceDialog, "the state of the conversation forbids a conversation timer";
    MESSAGE_TOO_LARGE = 8459, MessageRefused, FixCall, "the message exceeds the largest size";
    ENDPOINT_HANDLE_INVALID = 8460, DialogOver, ReplaceDialog, "the conversation endpoint refers to an invalid handle";
    BROKER_INTERNAL = 8461, Corrupt, GiveUp, "internal broker error, possibly corruption";
    REMOTE_ENDPOINT_GONE = 8462, DialogOver, ReplaceDialog, "the remote endpoint cannot exchange messages any more or is gone";
    BODY_UNREADABLE = 8463, MessageRefused, GiveUp, "a message body could not be read";
    UNDERLYING_SERVICE_ALTERED = 8468, DialogOver, ReplaceDialog, "the service of the dialog was altered";
    REMOTE_SERVICE_ALTERED = 8469, DialogOver, ReplaceDialog, "the remote service was altered";
    REMOTE_SERVICE_DROPPED = 8470, DialogOver, ReplaceDialog, "the remote service was dropped";
    TRANSPORT_CALL_FAILED = 8471, Transient, Retry, "a call of the transport failed";
    REMOTE_HEADER_INVALID = 8472, MessageRefused, GiveUp, "a remote message has invalid header fields";
    ENDPOINT_DROPPED = 8475, DialogOver, ReplaceDialog, "the conversation endpoint was dropped";
    BROKER_SERIOUS_INTERNAL = 8477, Corrupt, GiveUp, "serious internal broker error";
    TEST_FAIL_POINT = 8479, Statement, GiveUp, "a test fail point was used";
    REMOTE_CONTRACT_DROPPED = 8487, DialogOver, ReplaceDialog, "the remote contract was dropped";
    DIALOG_LIFETIME_EXPIRED = 8489, DialogOver, ReplaceDialog, "the dialog exceeded its lifetime";
    REMOTE_SERVICE_NOT_FOUND = 8490, ObjectMissing, FixSetup, "the remote service does not exist";
    CONTRACT_WITHOUT_INITIATOR_TYPE = 8492, Statement, FixSetup, "the contract has no message type that the initiator may send";
    SERVICE_NOT_CHANGED = 8493, Statement, FixCall, "ALTER SERVICE changes nothing";
    SERVICE_ACCESS_DENIED = 8494, PermissionDenied, FixGrant, "no permission to access the service";
    CONVERSATION_BOUND_ELSEWHERE = 8495, DialogOver, ReplaceDialog, "the conversation was already acknowledged by another instance";
    REMOTE_TYPE_NOT_IN_CONTRACT = 8498, MessageRefused, FixSetup, "the remote message type is not in the local contract";
    BODY_ENCODING_INVALID = 8499, MessageRefused, FixCall, "the encoding of the body does not fit its message type";
    MEMORY_GRANT_TIMEOUT = 8645, Transient, Retry, "no memory for the query in time";
    LOW_MEMORY = 8651, Transient, Retry, "not enough memory for the query";
    MERGE_CHANGES_TWICE = 8672, Statement, FixCall, "MERGE would change one row twice";
    LOG_FULL = 9002, Transient, Retry, "the transaction log is full";
    XML_PARSE_ERROR = 9400, Statement, FixCall, "the text is not well-formed xml";
    XML_ENCODING_SWITCH = 9402, Statement, FixCall, "the encoding of the xml cannot be switched";
    XML_ILLEGAL_CHARACTER = 9420, Statement, FixCall, "an illegal character stands in the xml";
    CANNOT_RELATE = 9601, Statement, FixCall, "the dialog cannot be related to that conversation or group";
    TOO_MANY_PREFIXES = 9609, Statement, FixCall, "the name has too many prefixes";
    RELATED_SERVICE_DIFFERS = 9610, Statement, FixCall, "the service differs from that of the related conversation";
    USER_NOT_FOUND = 9611, ObjectMissing, FixSetup, "the user is not found";
    ACTIVATION_USER_MISSING = 9613, Statement, FixSetup, "the user of the activation is not specified";
    ACTIVATION_PROCEDURE_INVALID = 9614, ObjectMissing, FixSetup, "the activated procedure is missing or not valid";
    XML_VALIDATION_FAILED_REMOTELY = 9615, MessageRefused, FixCall, "the body failed XML validation at the target";
    XML_VALIDATION_FAILED = 9616, MessageRefused, FixCall, "the received body failed XML validation";
    QUEUE_DISABLED = 9617, QueueDisabled, StopQueue, "the queue is disabled";
    OWN_QUEUE_DISABLED = 9618, QueueDisabled, StopQueue, "cannot send while the own queue, which retains messages, is disabled";
    BINDING_EXISTS = 9619, Statement, FixSetup, "a remote service binding for this service exists already";
    ACTIVATION_OBJECT_IS_FUNCTION = 9620, Statement, FixSetup, "a function cannot be activated";
    TRANSPORT_PROCESSING_FAILED = 9621, Transient, Retry, "a message could not be processed in the transport";
    READERS_MISSING = 9648, Statement, FixSetup, "activation is on but MAX_QUEUE_READERS is zero";
    NO_SESSION_KEY = 9652, Statement, FixSetup, "there is no session key for the encryption";
    ACTIVATION_PROCEDURE_HAS_PARAMETERS = 9653, Statement, FixSetup, "the activated procedure has parameters";
    BROKER_DATABASE_NOT_FOUND = 9654, ObjectMissing, FixSetup, "the database does not exist";
    TRANSMISSION_QUEUE_DAMAGED = 9655, Corrupt, GiveUp, "the transmission queue is damaged or cannot be reached";
    TRANSMISSION_WORKTABLE_DAMAGED = 9657, Corrupt, GiveUp, "the worktable of the transmission queue is damaged";
    TRANSMISSION_WORKTABLE_UNREACHABLE = 9658, Corrupt, GiveUp, "the worktable of the transmission queue cannot be reached";
    ROUTE_CLAUSE_EMPTY = 9659, Statement, FixCall, "a clause of the route is empty";
    ROUTE_CLAUSE_TOO_LONG = 9660, Statement, FixCall, "a clause of the route is too long";
    MIRROR_ROUTE_INCOMPLETE = 9661, Statement, FixCall, "a route with a mirror needs a service name and a broker instance";
    ROUTE_INSTANCE_WITHOUT_SERVICE = 9662, Statement, FixCall, "a route with a broker instance needs a service name";
    SYSTEM_OBJECT_FIXED = 9663, Statement, FixCall, "a system object cannot be changed";
    TRANSPORT_OFF = 9666, BrokerDisabled, FixSetup, "the transport is disabled or not configured";
    SERVICE_DROPPED_WHILE_WAITING = 9684, DialogOver, ReplaceDialog, "the service of the conversation was dropped";
    VALIDATION_FAILED_AT_TARGET = 9704, MessageRefused, FixCall, "a message was dropped because its XML validation failed at the target";
    ACTIVATION_MEETS_NOTIFICATION = 9717, Statement, FixSetup, "a queue with an event notification cannot have internal activation";
    NOTIFICATION_MEETS_ACTIVATION = 9718, Statement, FixSetup, "a queue with internal activation cannot have an event notification";
    BROKER_RESTORED_HERE = 9719, DialogOver, ReplaceDialog, "this database was attached or restored and its conversations were ended";
    BROKER_RESTORED_THERE = 9720, DialogOver, ReplaceDialog, "the remote database was attached or restored and its conversations were ended";
    NO_REMOTE_SERVICE_BINDING = 9727, Statement, FixSetup, "dialog security needs a remote service binding";
    CERTIFICATE_MISSING = 9731, Statement, FixSetup, "the certificate or key for the dialog is missing";
    TEMPORARY_PROCEDURE_ACTIVATED = 9742, Statement, FixSetup, "a temporary procedure cannot be activated";
    ROUTE_MIRROR_NOT_ADDRESS = 9743, Statement, FixCall, "the mirror of a route must be an address";
    ROUTE_ADDRESS_INVALID = 9744, Statement, FixCall, "the address of the route is not valid";
    ROUTE_TRANSPORT_WITH_SERVICE = 9745, Statement, FixCall, "a TRANSPORT route cannot name a service";
    ROUTE_LIFETIME_OUT_OF_RANGE = 9746, Statement, FixCall, "the lifetime of the route is out of range";
    ROUTE_ADDRESSES_EQUAL = 9747, Statement, FixCall, "address and mirror of the route are the same";
    TRANSPORT_UNAVAILABLE = 9748, BrokerDisabled, FixSetup, "the transport is not available";
    BROKER_ID_IN_USE = 9772, BrokerDisabled, FixSetup, "the broker cannot be enabled because another one with the same identifier is";
    NEW_BROKER_READ_ONLY = 9774, Statement, FixSetup, "a read-only database cannot get a new broker";
    NEW_BROKER_MIRRORED = 9775, Statement, FixSetup, "a mirrored database cannot get a new broker";
    BROKER_ID_MISMATCH = 9776, BrokerDisabled, FixSetup, "the broker identifier in the database differs from the one the server has for it";
    NEW_BROKER_REFUSED = 9778, Statement, FixSetup, "the database cannot get a new broker";
    BROKER_DISABLED_AT_SENDER = 9791, BrokerDisabled, FixSetup, "Service Broker is disabled in the database of the sender";
    MESSAGE_NOT_CLASSIFIED = 9798, MessageRefused, FixSetup, "the message could not be classified for delivery";
    DATEPART_UNSUPPORTED = 9810, Statement, FixCall, "a date function does not take that part";
    TRANSLATE_LENGTHS = 9828, Statement, FixCall, "the arguments of TRANSLATE differ in length";
    THROW_OUTSIDE_CATCH = 10704, Statement, FixCall, "THROW without arguments stands outside CATCH";
    VALUES_WIDTH = 10709, Statement, FixCall, "rows of VALUES differ in width";
    TOP_WITH_OFFSET = 10741, Statement, FixCall, "TOP and OFFSET exclude each other";
    RESOURCE_LIMIT_REACHED = 10928, Transient, Retry, "a resource limit of the database is reached";
    RESOURCE_MINIMUM_ONLY = 10929, Transient, Retry, "the server is too busy for more than the guaranteed minimum";
    PRINCIPAL_EXISTS = 15023, Statement, FixSetup, "a user or role of that name exists already";
    LOGIN_EXISTS = 15025, Statement, FixSetup, "a login of that name exists already";
    LOGIN_HAS_USER = 15063, Statement, FixSetup, "the login has a user in the database already";
    PRINCIPAL_OWNS_OBJECTS = 15138, Statement, FixSetup, "a principal owns something and cannot be dropped";
    PRINCIPAL_FIXED = 15150, Statement, FixSetup, "a fixed principal cannot be changed";
    OBJECT_NOT_FOUND_OR_DENIED = 15151, ObjectMissing, FixSetup, "the object is not found, or the permission on it is missing";
    PROCEDURE_ARGUMENT_MISSING = 15174, Statement, FixCall, "an argument for the login is missing";
    REVERT_ELSEWHERE = 15199, Statement, FixCall, "the security context cannot be reverted in this database";
    ACTION_DENIED = 15247, PermissionDenied, FixGrant, "no permission for this action";
    CANNOT_IMPERSONATE = 15406, PermissionDenied, FixGrant, "the principal cannot be impersonated";
    LOGIN_CANNOT_IMPERSONATE = 15517, PermissionDenied, FixGrant, "the principal cannot be executed as";
    CURSOR_ALREADY_OPEN = 16905, Statement, FixCall, "a cursor is open already";
    CURSOR_FORWARD_ONLY = 16911, Statement, FixCall, "a cursor goes forward only";
    CURSOR_EXISTS = 16915, Statement, FixCall, "a cursor of that name exists";
    CURSOR_UNKNOWN = 16916, Statement, FixCall, "a cursor is unknown";
    CURSOR_NOT_OPEN = 16917, Statement, FixCall, "a cursor is not open";
    CURSOR_VARIABLES = 16924, Statement, FixCall, "FETCH has the wrong number of variables";
    SERVER_SHUTDOWN = 17142, ConnectionLost, Retry, "the server is paused or shutting down";
    MESSAGE_NUMBER_UNKNOWN = 18054, Statement, FixCall, "RAISERROR names an unknown message";
    SERVER_SCRIPT_UPGRADE = 18401, LoginFailed, Retry, "the server is being upgraded and takes administrators only";
    LOGIN_DISABLED = 18451, LoginFailed, Retry, "only administrators may connect at this time";
    LOGIN_UNTRUSTED = 18452, LoginFailed, FixGrant, "the login comes from an untrusted domain or the server takes no SQL logins";
    LOGIN_FAILED = 18456, LoginFailed, FixGrant, "login failed";
    LOGIN_DISABLED_ACCOUNT = 18470, LoginFailed, FixGrant, "the login is disabled";
    LOGIN_LOCKED = 18486, LoginFailed, FixGrant, "the login is locked out";
    PASSWORD_MUST_CHANGE = 18487, LoginFailed, FixGrant, "the password has expired";
    PASSWORD_EXPIRED = 18488, LoginFailed, FixGrant, "the password must be changed";
    ACTION_NOT_ALLOWED_IN_STATE = 28004, DialogOver, ReplaceDialog, "the action is not allowed in the current state of the conversation";
    ENQUEUE_FAILED = 28005, Transient, Retry, "an exception occurred while a message was put on the target queue";
    NOT_DB_OWNER = 28006, PermissionDenied, FixGrant, "only sysadmin or db_owner may do this in the current state";
    CONVERSATION_HANDLE_INVALID = 28008, DialogOver, ReplaceDialog, "the conversation handle is invalid";
    TARGET_BROKER_UNAVAILABLE = 28012, BrokerDisabled, FixSetup, "Service Broker is not available in the target database";
    TARGET_BROKER_OFF = 28013, BrokerDisabled, FixSetup, "the target broker is administratively disabled";
    TARGET_DATABASE_READ_ONLY = 28014, BrokerDisabled, FixSetup, "the target database is read-only";
    TARGET_DATABASE_SINGLE_USER = 28015, BrokerDisabled, FixSetup, "the target database is in single-user mode";
    TARGET_DATABASE_MIRROR = 28018, BrokerDisabled, FixSetup, "the target database is a mirror replica";
    DELIVERY_FAILED_LOCALLY = 28021, Transient, Retry, "some messages could not be delivered to the local service";
    SESSION_KEY_LOST = 28052, DialogOver, ReplaceDialog, "the session key of the dialog was lost with the master key";
    MASTER_KEY_NEEDED = 28054, Statement, FixSetup, "the dialog needs a database master key";
    SERVICE_CONTROL_DENIED = 28056, PermissionDenied, FixGrant, "no control permission on the service";
    BINDING_USER_WITHOUT_CERTIFICATES = 28083, Statement, FixSetup, "the user of the binding cannot own certificates";
    ACTIVATION_QUEUE_DROPPED = 28085, ObjectMissing, FixSetup, "the activated task ended because its queue was dropped";
    ACTIVATION_ENDED_DISABLED = 28086, QueueDisabled, StopQueue, "the activated task ended because its queue or the activation was disabled";
    ACTIVATED_WITHOUT_RECEIVE = 28087, Statement, FixCall, "the activated procedure never executed RECEIVE";
    ACTIVATED_TASK_ABORTED = 28088, Statement, FixCall, "the activated task was aborted by an error";
    BINDING_USER_UNSUITABLE = 28089, Statement, FixSetup, "the user of the binding is not suitable";
    SENT_MESSAGES_NOT_DELETED = 28090, Corrupt, GiveUp, "sent messages could not be deleted from the transmission queue";
    THROW_NUMBER = 35100, Statement, FixCall, "the number of THROW is too low";
    SERVICE_ERROR_PROCESSING = 40197, Transient, Retry, "the service met an error and may be failing over";
    SERVICE_BUSY = 40501, Transient, Retry, "the service is busy";
    UNSUPPORTED = 40510, Unsupported, FixCall, "the embedded broker does not support this construct";
    DATABASE_STARTING = 40613, Transient, Retry, "the database is not available at the moment";
    BINDING_UNSUPPORTED = 41906, Unsupported, FixSetup, "remote service bindings are not supported on this edition";
    SERVICE_LACKS_RESOURCES = 49918, Transient, Retry, "not enough resources for the request";
    TOO_MANY_OPERATIONS = 49919, Transient, Retry, "too many operations are in progress";
    TOO_MANY_REQUESTS = 49920, Transient, Retry, "the service is busy with too many requests";
    USER_ERROR = 50000, Statement, FixCall, "an error raised by a program";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_is_sorted_and_every_row_is_found_by_its_number() {
        assert!(CATALOGUE.windows(2).all(|pair| pair[0].number < pair[1].number));
        for code in CATALOGUE {
            assert_eq!(lookup(code.number).map(|found| found.number), Some(code.number));
            assert!(!code.meaning.is_empty() && !code.meaning.contains('\n'));
        }
        assert!(lookup(1).is_none());
    }

    #[test]
    fn kind_and_advice_agree_in_every_row() {
        for code in CATALOGUE {
            let agrees = match code.kind {
                ErrorKind::DialogOver => code.advice == Advice::ReplaceDialog,
                ErrorKind::QueueDisabled => code.advice == Advice::StopQueue,
                ErrorKind::PermissionDenied => code.advice == Advice::FixGrant,
                ErrorKind::Transient | ErrorKind::ConnectionLost => code.advice == Advice::Retry,
                ErrorKind::Failover => code.advice == Advice::Reconnect,
                ErrorKind::TransactionDoomed => code.advice == Advice::RollBack,
                ErrorKind::Corrupt => code.advice == Advice::GiveUp,
                _ => !matches!(code.advice, Advice::ReplaceDialog | Advice::StopQueue | Advice::RollBack),
            };
            assert!(agrees, "{code:?}");
        }
    }

    #[test]
    fn only_the_five_documented_broker_codes_are_resendable() {
        for code in [-8489, -8462, -9719, -9720, -28052] {
            assert!(is_resendable(code), "{code}");
        }
        for code in [8489, 8462, -8490, -8494, -8425, -9615, 0, 1] {
            assert!(!is_resendable(code), "{code}");
        }
    }
}
