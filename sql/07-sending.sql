-- Tables and procedures of the client library's sending half: what was given up, what was sent under an identifier, and
-- the right to see what is still on its way.
--
-- Run it in the database of the sending service, as a member of db_owner. A sender then needs INSERT on ssbroker.unsent,
-- SELECT, INSERT and DELETE on ssbroker.sent_messages, and EXECUTE on the two procedures if it is no member of db_owner.
-- Plain sending does without all of it.
IF SCHEMA_ID(N'ssbroker') IS NULL EXEC (N'CREATE SCHEMA [ssbroker]');
GO
-- Messages that were sent on a dialog that then failed for good, or that were refused when their time had come.
IF OBJECT_ID(N'ssbroker.unsent', N'U') IS NULL
    CREATE TABLE [ssbroker].[unsent] (
        id bigint IDENTITY(1, 1) NOT NULL CONSTRAINT [pk_unsent] PRIMARY KEY,
        noted datetime2(3) NOT NULL,
        conversation_handle uniqueidentifier NULL,
        message_sequence_number bigint NULL,
        from_service_name nvarchar(256) NOT NULL,
        to_service_name nvarchar(256) NOT NULL,
        contract_name nvarchar(256) NOT NULL,
        message_type_name nvarchar(256) NOT NULL,
        error_code int NULL,
        reason nvarchar(3000) NOT NULL,
        message_body varbinary(max) NULL
    );
GO
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'ix_unsent_noted' AND object_id =
        OBJECT_ID(N'ssbroker.unsent'))
    CREATE INDEX [ix_unsent_noted] ON [ssbroker].[unsent] (noted);
GO
-- One row for each message that was sent under an identifier, written in the transaction of the SEND.
IF OBJECT_ID(N'ssbroker.sent_messages', N'U') IS NULL
    CREATE TABLE [ssbroker].[sent_messages] (
        message_id uniqueidentifier NOT NULL CONSTRAINT [pk_sent_messages] PRIMARY KEY,
        conversation_handle uniqueidentifier NOT NULL,
        sent datetime2(3) NOT NULL
    );
GO
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'ix_sent_messages_sent' AND object_id =
        OBJECT_ID(N'ssbroker.sent_messages'))
    CREATE INDEX [ix_sent_messages_sent] ON [ssbroker].[sent_messages] (sent);
GO
-- sys.transmission_queue shows its rows to members of db_owner only. These procedures run as their owner, and lend that
-- view for one conversation to whoever is granted EXECUTE.
IF OBJECT_ID(N'ssbroker.pending_messages', N'P') IS NULL
    EXEC (N'CREATE PROCEDURE [ssbroker].[pending_messages] @handle uniqueidentifier, @after bigint WITH EXECUTE AS OWNER AS
    SELECT TOP (100) message_sequence_number, message_type_name, message_body FROM sys.transmission_queue
    WHERE conversation_handle = @handle AND message_sequence_number > @after AND is_conversation_error = 0
        AND is_end_of_dialog = 0
    ORDER BY message_sequence_number;');
IF OBJECT_ID(N'ssbroker.count_pending', N'P') IS NULL
    EXEC (N'CREATE PROCEDURE [ssbroker].[count_pending] @handle uniqueidentifier, @pending bigint OUTPUT
    WITH EXECUTE AS OWNER AS
    SELECT @pending = COUNT_BIG(*) FROM sys.transmission_queue WHERE conversation_handle = @handle;');
GO
