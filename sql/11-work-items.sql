-- Table of the client library's store-and-commit mode: messages whose handlers run too long for an open transaction.
--
-- Run it after 05-dead-letters.sql. A long worker needs SELECT, INSERT, UPDATE and DELETE on it. The columns from
-- conversation_group_id on are those of RECEIVE. A row is free while lease is NULL or leased_until has passed; only the
-- first row of a conversation group is ever leased, so order within a group is kept.
IF SCHEMA_ID(N'ssbroker') IS NULL EXEC (N'CREATE SCHEMA [ssbroker]');
GO
IF OBJECT_ID(N'ssbroker.work_items', N'U') IS NULL
    CREATE TABLE [ssbroker].[work_items] (
        id bigint IDENTITY(1, 1) NOT NULL CONSTRAINT [pk_work_items] PRIMARY KEY NONCLUSTERED,
        queue_name nvarchar(300) NOT NULL,
        stored datetime2(3) NOT NULL,
        due datetime2(3) NOT NULL,
        attempts int NOT NULL,
        last_reason nvarchar(2000) NULL,
        lease uniqueidentifier NULL,
        leased_until datetime2(3) NULL,
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
        CONSTRAINT [ck_work_items_lease]
            CHECK (lease IS NULL AND leased_until IS NULL OR lease IS NOT NULL AND leased_until IS NOT NULL),
        INDEX [ix_work_items_queue] CLUSTERED (queue_name, id),
        INDEX [ix_work_items_group] (conversation_group_id, id)
    );
GO
