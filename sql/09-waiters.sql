-- Tables of the client library's requesters: who waits for a reply, and the replies that came while nobody did.
--
-- Run it in the database of the reply queue. Needs CREATE SCHEMA and CREATE TABLE once; a requester that remembers its
-- requests then needs SELECT, INSERT, UPDATE and DELETE on the tables. Requesters that do not remember do without them.
IF SCHEMA_ID(N'ssbroker') IS NULL EXEC (N'CREATE SCHEMA [ssbroker]');
GO
-- One row for each request that is not settled. message_sequence_number: that of the last message kept for it.
IF OBJECT_ID(N'ssbroker.waiters', N'U') IS NULL
    CREATE TABLE [ssbroker].[waiters] (
        conversation_handle uniqueidentifier NOT NULL CONSTRAINT [pk_waiters] PRIMARY KEY,
        requester nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL,
        note nvarchar(400) NULL,
        created datetime2(3) NOT NULL,
        deadline datetime2(3) NOT NULL,
        message_sequence_number bigint NULL,
        is_ended bit NOT NULL,
        error_code int NULL,
        error_text nvarchar(3000) NULL,
        CONSTRAINT [ck_waiters_requester] CHECK (requester <> N'')
    );
GO
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'ix_waiters_requester' AND object_id =
        OBJECT_ID(N'ssbroker.waiters'))
    CREATE INDEX [ix_waiters_requester] ON [ssbroker].[waiters] (requester, created);
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'ix_waiters_deadline' AND object_id =
        OBJECT_ID(N'ssbroker.waiters'))
    CREATE INDEX [ix_waiters_deadline] ON [ssbroker].[waiters] (deadline);
GO
-- The messages kept for a request, in order: which of them is the reply says the one who waits for it.
IF OBJECT_ID(N'ssbroker.waiter_messages', N'U') IS NULL
    CREATE TABLE [ssbroker].[waiter_messages] (
        conversation_handle uniqueidentifier NOT NULL,
        message_sequence_number bigint NOT NULL,
        message_type_name nvarchar(256) NOT NULL,
        message_body varbinary(max) NULL,
        CONSTRAINT [pk_waiter_messages] PRIMARY KEY (conversation_handle, message_sequence_number)
    );
GO
