-- Table of the client library's requesters: who waits for a reply, and the replies that came while nobody did.
--
-- Run it in the database of the reply queue. Needs CREATE SCHEMA and CREATE TABLE once; a requester that remembers its
-- requests then needs SELECT, INSERT, UPDATE and DELETE on the table. Requesters that do not remember do without it.
IF SCHEMA_ID(N'ssbroker') IS NULL EXEC (N'CREATE SCHEMA [ssbroker]');
GO
IF OBJECT_ID(N'ssbroker.waiters', N'U') IS NULL
    CREATE TABLE [ssbroker].[waiters] (
        conversation_handle uniqueidentifier NOT NULL CONSTRAINT [pk_waiters] PRIMARY KEY,
        requester nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL,
        note nvarchar(400) NULL,
        created datetime2(3) NOT NULL,
        deadline datetime2(3) NOT NULL,
        message_sequence_number bigint NULL,
        message_type_name nvarchar(256) NULL,
        message_body varbinary(max) NULL,
        is_ended bit NOT NULL,
        error_code int NULL,
        error_text nvarchar(3000) NULL,
        CONSTRAINT [ck_waiters_requester] CHECK (requester <> N'')
    );
GO
