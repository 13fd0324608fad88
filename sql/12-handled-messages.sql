-- Table of messages that were handled, so that one that arrives again is not handled again.
--
-- Run it in the database of the receiving queue. A worker that skips repeated messages needs SELECT, INSERT and DELETE on
-- it. A row is written in the transaction that handles its message; message_id is that of the message's envelope, or one
-- that a handler chooses. A worker removes rows of its queue once they are as old as it was told.
IF SCHEMA_ID(N'ssbroker') IS NULL EXEC (N'CREATE SCHEMA [ssbroker]');
GO
IF OBJECT_ID(N'ssbroker.handled_messages', N'U') IS NULL
    CREATE TABLE [ssbroker].[handled_messages] (
        queue_name nvarchar(300) NOT NULL,
        message_id uniqueidentifier NOT NULL,
        handled datetime2(3) NOT NULL,
        CONSTRAINT [pk_handled_messages] PRIMARY KEY (queue_name, message_id),
        INDEX [ix_handled_messages_handled] (queue_name, handled)
    );
GO
