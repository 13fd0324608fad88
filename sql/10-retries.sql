-- Table of the client library's scheduled retries: messages that come back to their handler at a later time.
--
-- Run it after 05-dead-letters.sql. A worker with a retry schedule needs SELECT, INSERT, UPDATE and DELETE on it. The columns
-- from conversation_group_id on are those of RECEIVE. A message here has left its queue, so later ones of its conversation
-- may be handled before it; message_sequence_number says where it stood.
IF SCHEMA_ID(N'ssbroker') IS NULL EXEC (N'CREATE SCHEMA [ssbroker]');
GO
IF OBJECT_ID(N'ssbroker.retries', N'U') IS NULL
    CREATE TABLE [ssbroker].[retries] (
        id bigint IDENTITY(1, 1) NOT NULL CONSTRAINT [pk_retries] PRIMARY KEY NONCLUSTERED,
        queue_name nvarchar(300) NOT NULL,
        due datetime2(3) NOT NULL,
        attempts int NOT NULL,
        retries int NOT NULL,
        last_reason nvarchar(2000) NULL,
        conversation_group_id uniqueidentifier NOT NULL,
        conversation_handle uniqueidentifier NOT NULL,
        message_sequence_number bigint NOT NULL,
        service_name nvarchar(512) NOT NULL,
        service_contract_name nvarchar(256) NOT NULL,
        message_type_name nvarchar(256) NOT NULL,
        validation nchar(2) NOT NULL,
        message_enqueue_time datetime2(3) NULL,
        priority int NOT NULL,
        message_body varbinary(max) NULL,
        INDEX [ix_retries_due] CLUSTERED (queue_name, due, id)
    );
GO
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'ix_retries_message' AND object_id =
        OBJECT_ID(N'ssbroker.retries'))
    CREATE INDEX [ix_retries_message] ON [ssbroker].[retries] (conversation_handle, message_sequence_number);
GO
