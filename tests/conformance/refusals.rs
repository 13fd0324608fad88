//! Error numbers of statements that are wrong by themselves (spec 1 and 2): tables of texts and numbers.

use super::fixture::Fixture;
use super::sql::Sql;
use super::vector::{Origin, Outcome};

/// A text, the number it is refused with, and who says so.
type Refused = (&'static str, u32, Origin);

const LOW: Origin = Origin::Documented("database-engine-events-and-errors-8000-8999");
const HIGH: Origin = Origin::Documented("database-engine-events-and-errors-9000-9999");
const PROBE: Origin = Origin::Documented("permission probe of live servers, 2026-09");
const DUPLICATE: Origin = Origin::Assumed("U-37");

const OBJECTS: &str = "
    CREATE MESSAGE TYPE [i_#] VALIDATION = NONE;
    CREATE MESSAGE TYPE [t_#] VALIDATION = NONE;
    CREATE MESSAGE TYPE [loose_#] VALIDATION = NONE;
    CREATE CONTRACT [c_#] ([i_#] SENT BY INITIATOR, [t_#] SENT BY TARGET);
    CREATE CONTRACT [d_#] ([i_#] SENT BY INITIATOR);
    ALTER SERVICE [b_#] (ADD CONTRACT [c_#]);";

const DEFINITIONS: &[Refused] = &[
    ("CREATE CONTRACT [x_#] ([i_#] SENT BY ANY, [i_#] SENT BY TARGET)", 8403, LOW),
    ("CREATE SERVICE [x_#] ON QUEUE [qb_#] ([c_#], [c_#])", 8404, LOW),
    ("ALTER SERVICE [b_#] (ADD CONTRACT [d_#], ADD CONTRACT [d_#])", 8404, LOW),
    ("CREATE CONTRACT [x_#] ([i_#] SENT BY TARGET)", 8492, LOW),
    ("ALTER SERVICE [b_#] ON QUEUE [qb_#]", 8493, LOW),
    ("DROP MESSAGE TYPE [i_#]", 3716, LOW),
    ("DROP CONTRACT [c_#]", 3716, LOW),
    ("DROP QUEUE [qb_#]", 3716, Origin::Assumed("spec 1.4")),
    ("ALTER MESSAGE TYPE [DEFAULT] VALIDATION = EMPTY", 9663, HIGH),
    ("DROP MESSAGE TYPE [DEFAULT]", 9663, HIGH),
    ("DROP CONTRACT [DEFAULT]", 9663, HIGH),
    ("DROP SERVICE [http://schemas.microsoft.com/SQL/ServiceBroker/ServiceBroker]", 9663, HIGH),
    ("DROP MESSAGE TYPE [none_#]", 15151, PROBE),
    ("DROP CONTRACT [none_#]", 15151, PROBE),
    ("DROP SERVICE [none_#]", 15151, PROBE),
    ("DROP ROUTE [none_#]", 15151, PROBE),
    ("CREATE QUEUE [qb_#]", 2714, DUPLICATE),
    ("CREATE SERVICE [b_#] ON QUEUE [qb_#]", 2714, DUPLICATE),
    ("CREATE CONTRACT [c_#] ([i_#] SENT BY INITIATOR)", 2714, DUPLICATE),
    ("CREATE MESSAGE TYPE [i_#] VALIDATION = NONE", 2714, DUPLICATE),
];

const ROUTES: &[Refused] = &[
    (
        "CREATE ROUTE [x_#] WITH BROKER_INSTANCE = 'd8d4d268-00a3-4c62-8f91-634b89c1e315', ADDRESS = 'LOCAL'",
        9662,
        HIGH,
    ),
    (
        "CREATE ROUTE [x_#] WITH SERVICE_NAME = 's', ADDRESS = 'TCP://one:4022', MIRROR_ADDRESS = 'TCP://two:4022'",
        9661,
        HIGH,
    ),
    (
        "CREATE ROUTE [x_#] WITH SERVICE_NAME = 's', BROKER_INSTANCE = 'd8d4d268-00a3-4c62-8f91-634b89c1e315',
             ADDRESS = 'TCP://one:4022', MIRROR_ADDRESS = 'LOCAL'",
        9743,
        HIGH,
    ),
    ("CREATE ROUTE [x_#] WITH SERVICE_NAME = 's', ADDRESS = 'nowhere'", 9744, HIGH),
    ("CREATE ROUTE [x_#] WITH SERVICE_NAME = 's', ADDRESS = 'TRANSPORT'", 9745, HIGH),
    (
        "CREATE ROUTE [x_#] WITH SERVICE_NAME = 's', BROKER_INSTANCE = 'd8d4d268-00a3-4c62-8f91-634b89c1e315',
             ADDRESS = 'TCP://one:4022', MIRROR_ADDRESS = 'TCP://one:4022'",
        9747,
        HIGH,
    ),
    ("CREATE ROUTE [x_#] WITH SERVICE_NAME = '', ADDRESS = 'LOCAL'", 9659, HIGH),
];

const ACTIVATION: &[Refused] = &[
    (
        "ALTER QUEUE [qb_#] WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = [none_#], MAX_QUEUE_READERS = 1, EXECUTE AS SELF)",
        9614,
        Origin::Assumed("U-52"),
    ),
    (
        "ALTER QUEUE [qb_#] WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = [p_#], MAX_QUEUE_READERS = 1, EXECUTE AS SELF)",
        9653,
        Origin::Assumed("U-52"),
    ),
];

const BEGINNING: &[Refused] = &[
    ("DECLARE @h int; BEGIN DIALOG @h FROM SERVICE [a_#] TO SERVICE N'b_#'", 8402, LOW),
    (
        "DECLARE @h uniqueidentifier, @l int; BEGIN DIALOG @h FROM SERVICE [a_#] TO SERVICE N'b_#' WITH LIFETIME = @l",
        8406,
        LOW,
    ),
    (
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [a_#] TO SERVICE N'b_#' WITH LIFETIME = 0",
        8411,
        LOW,
    ),
    (
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [a_#] TO SERVICE N'b_#', N'not a guid'",
        8413,
        LOW,
    ),
    (
        "DECLARE @h uniqueidentifier, @c nvarchar(256);
         BEGIN DIALOG @h FROM SERVICE [a_#] TO SERVICE N'b_#' ON CONTRACT @c",
        8417,
        LOW,
    ),
    (
        "DECLARE @h uniqueidentifier, @s sysname; BEGIN DIALOG @h FROM SERVICE @s TO SERVICE N'b_#'",
        8421,
        LOW,
    ),
    (
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [none_#] TO SERVICE N'b_#'",
        8423,
        Origin::Assumed("U-12"),
    ),
    (
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [a_#] TO SERVICE N'b_#' ON CONTRACT [none_#]",
        8425,
        LOW,
    ),
    (
        "DECLARE @h uniqueidentifier, @r uniqueidentifier;
         BEGIN DIALOG @h FROM SERVICE [a_#] TO SERVICE N'b_#' WITH ENCRYPTION = OFF;
         BEGIN DIALOG @r FROM SERVICE [b_#] TO SERVICE N'a_#' WITH RELATED_CONVERSATION = @h, ENCRYPTION = OFF",
        9610,
        HIGH,
    ),
];

/// Each is run with a new dialog on the contract `c_#` as `@P1`.
const CONVERSING: &[Refused] = &[
    ("SEND ON CONVERSATION @P1 MESSAGE TYPE [none_#] ('m')", 8428, LOW),
    ("SEND ON CONVERSATION @P1 MESSAGE TYPE [loose_#] ('m')", 8431, LOW),
    ("SEND ON CONVERSATION @P1 ('m')", 8431, LOW),
    ("SEND ON CONVERSATION @P1 MESSAGE TYPE [t_#] ('m')", 8432, LOW),
    ("DECLARE @n uniqueidentifier; SEND ON CONVERSATION @n MESSAGE TYPE [i_#] ('m')", 8418, LOW),
    ("DECLARE @code int; END CONVERSATION @P1 WITH ERROR = @code DESCRIPTION = N'text'", 8419, LOW),
    ("DECLARE @text nvarchar(100); END CONVERSATION @P1 WITH ERROR = 5 DESCRIPTION = @text", 8422, LOW),
    ("DECLARE @g uniqueidentifier = NEWID(); MOVE CONVERSATION @P1 TO @g", 8436, LOW),
    ("DECLARE @g uniqueidentifier; MOVE CONVERSATION @P1 TO @g", 8420, LOW),
    (
        "DECLARE @h uniqueidentifier, @g uniqueidentifier;
         BEGIN DIALOG @h FROM SERVICE [b_#] TO SERVICE N'a_#' WITH ENCRYPTION = OFF;
         SELECT @g = conversation_group_id FROM sys.conversation_endpoints WHERE conversation_handle = @h;
         MOVE CONVERSATION @P1 TO @g",
        8439,
        LOW,
    ),
    ("DECLARE @m varbinary(max); RECEIVE TOP (1) @m = message_body, status FROM [qa_#]", 8447, LOW),
    (
        "DECLARE @m varbinary(max); DECLARE @t TABLE (body varbinary(max)); RECEIVE @m = message_body FROM [qa_#] INTO @t",
        8450,
        LOW,
    ),
    ("RECEIVE * FROM [none_#]", 208, LOW),
    (
        "DECLARE @g uniqueidentifier = NEWID(); RECEIVE * FROM [qa_#] WHERE conversation_group_id = @g",
        8436,
        LOW,
    ),
];

impl Fixture {
    /// Runs every text, each of which must fail, and tells all that answer otherwise.
    async fn refuses(&self, cases: &[Refused]) -> Outcome {
        self.refuses_with(cases, false).await
    }

    async fn refuses_with(&self, cases: &[Refused], on_a_dialog: bool) -> Outcome {
        let mut wrong = Vec::new();
        for (sql, expected, origin) in cases {
            let mut values = Vec::new();
            if on_a_dialog {
                let clauses = "FROM SERVICE [a_#] TO SERVICE N'b_#' ON CONTRACT [c_#] WITH ENCRYPTION = OFF";
                values.push(self.begin_with(clauses).await);
            }
            let number = self.attempt(sql, &values).await.err().map(|error| error.number);
            if number != Some(*expected) {
                wrong.push(format!("{number:?} instead of {expected} ({origin}) for: {sql}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        Outcome::Passed
    }
}

pub(super) async fn of_definitions(fixture: &Fixture) -> Outcome {
    fixture.run(OBJECTS, &[]).await;
    fixture.refuses(DEFINITIONS).await
}

pub(super) async fn of_routes(fixture: &Fixture) -> Outcome {
    fixture.refuses(ROUTES).await
}

pub(super) async fn of_activation(fixture: &Fixture) -> Outcome {
    fixture.run("CREATE PROCEDURE [p_#] @parameter int AS RETURN", &[]).await;
    fixture.refuses(ACTIVATION).await
}

pub(super) async fn of_beginning(fixture: &Fixture) -> Outcome {
    fixture.refuses(BEGINNING).await
}

pub(super) async fn of_conversing(fixture: &Fixture) -> Outcome {
    fixture.run(OBJECTS, &[]).await;
    fixture.refuses_with(CONVERSING, true).await
}

/// 8434: the target may not send what is SENT BY INITIATOR.
pub(super) async fn of_the_targets_side(fixture: &Fixture) -> Outcome {
    fixture.run(OBJECTS, &[]).await;
    let clauses = "FROM SERVICE [a_#] TO SERVICE N'b_#' ON CONTRACT [c_#] WITH ENCRYPTION = OFF";
    let handle = fixture.begin_with(clauses).await;
    fixture.run("SEND ON CONVERSATION @P1 MESSAGE TYPE [i_#] ('m')", &[handle]).await;
    let target = fixture.wait("qb_#").await[0].handle;
    let sql = "SEND ON CONVERSATION @P1 MESSAGE TYPE [i_#] ('m')";
    assert_eq!(fixture.error(sql, &[target]).await, 8434);
    Outcome::Passed
}

/// 9618: a queue that keeps copies of what is sent cannot be disabled meanwhile.
pub(super) async fn of_a_disabled_queue_with_retention(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    fixture.run("ALTER QUEUE [qa_#] WITH STATUS = OFF, RETENTION = ON", &[]).await;
    assert_eq!(fixture.error("SEND ON CONVERSATION @P1 ('m')", &[handle]).await, 9618);
    fixture.run("ALTER QUEUE [qa_#] WITH RETENTION = OFF", &[]).await;
    fixture.send(handle, "m").await;
    assert_eq!(fixture.wait("qb_#").await.len(), 1);
    Outcome::Passed
}

/// 3930: nothing can be sent in a transaction that can only be rolled back.
pub(super) async fn of_a_doomed_transaction(fixture: &Fixture) -> Outcome {
    let session = fixture.session().await;
    let handle = fixture.begin().await;
    session.begin_transaction().await;
    let sql = format!(
        "DECLARE @number int;
         BEGIN TRY
             SET @number = CONVERT(int, N'no number');
         END TRY
         BEGIN CATCH
             SEND ON CONVERSATION '{handle}' ('m');
         END CATCH"
    );
    assert_eq!(session.error(&sql, &[]).await, 3930);
    // The server itself may have rolled back what could not be committed.
    session.run("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION", &[]).await;
    assert_eq!(fixture.look("qb_#").await, []);
    Outcome::Passed
}
