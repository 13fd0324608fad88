-- Tables of the client library's poison handling: how often a message was tried, and where it goes when that is enough.
--
-- Run it in the database of the queues. Needs CREATE SCHEMA and CREATE TABLE once; a worker then needs SELECT, INSERT,
-- UPDATE and DELETE on the schema. Plain sending and receiving does without these tables.
IF SCHEMA_ID(N'ssbroker') IS NULL EXEC (N'CREATE SCHEMA [ssbroker]');
GO
-- A row vanishes when its message is handled or parked; a worker removes those that are a week old in small batches.
IF OBJECT_ID(N'ssbroker.attempts', N'U') IS NULL
    CREATE TABLE [ssbroker].[attempts] (
        conversation_handle uniqueidentifier NOT NULL,
        message_sequence_number bigint NOT NULL,
        attempts int NOT NULL,
        last_reason nvarchar(2000) NULL,
        last_attempt datetime2(3) NOT NULL,
        CONSTRAINT [pk_attempts] PRIMARY KEY (conversation_handle, message_sequence_number)
    );
GO
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'ix_attempts_last_attempt' AND object_id =
        OBJECT_ID(N'ssbroker.attempts'))
    CREATE INDEX [ix_attempts_last_attempt] ON [ssbroker].[attempts] (last_attempt);
GO
-- cause: attempts, refused, retries or interrupted; see DeadLetterCause of the library. reason: what the handler said.
IF OBJECT_ID(N'ssbroker.dead_letters', N'U') IS NULL
    CREATE TABLE [ssbroker].[dead_letters] (
        id bigint IDENTITY(1, 1) NOT NULL CONSTRAINT [pk_dead_letters] PRIMARY KEY,
        parked datetime2(3) NOT NULL,
        queue_name nvarchar(300) NOT NULL,
        service_name nvarchar(512) NOT NULL,
        service_contract_name nvarchar(256) NOT NULL,
        message_type_name nvarchar(256) NOT NULL,
        conversation_handle uniqueidentifier NOT NULL,
        conversation_group_id uniqueidentifier NOT NULL,
        message_sequence_number bigint NOT NULL,
        attempts int NOT NULL,
        cause nvarchar(32) NOT NULL,
        reason nvarchar(2000) NOT NULL,
        message_body varbinary(max) NULL
    );
GO
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'ix_dead_letters_parked' AND object_id =
        OBJECT_ID(N'ssbroker.dead_letters'))
    CREATE INDEX [ix_dead_letters_parked] ON [ssbroker].[dead_letters] (parked);
GO
