-- Table of a dialog pool that several processes share: one row for each place, and the dialog that lies in it.
--
-- Run it in the database of the sending service. Needs CREATE SCHEMA and CREATE TABLE once; a sender then needs SELECT,
-- INSERT and UPDATE on the table. A place is claimed by an update lock inside the sending transaction, so a claim ends
-- with its connection: nothing has to be cleaned up after a crash.
IF SCHEMA_ID(N'ssbroker') IS NULL EXEC (N'CREATE SCHEMA [ssbroker]');
GO
IF OBJECT_ID(N'ssbroker.pool_dialogs', N'U') IS NULL
    CREATE TABLE [ssbroker].[pool_dialogs] (
        pool_name nvarchar(64) COLLATE Latin1_General_BIN2 NOT NULL,
        route bigint NOT NULL,
        place int NOT NULL,
        conversation_handle uniqueidentifier NULL,
        begun datetime2(3) NULL,
        sends bigint NOT NULL CONSTRAINT [df_pool_dialogs_sends] DEFAULT (0),
        bytes bigint NOT NULL CONSTRAINT [df_pool_dialogs_bytes] DEFAULT (0),
        from_service_name nvarchar(256) NOT NULL,
        to_service_name nvarchar(256) NOT NULL,
        contract_name nvarchar(256) NOT NULL,
        CONSTRAINT [ck_pool_dialogs_name] CHECK (pool_name <> N''),
        CONSTRAINT [pk_pool_dialogs] PRIMARY KEY (pool_name, route, place)
    );
GO
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'ix_pool_dialogs_conversation' AND object_id =
        OBJECT_ID(N'ssbroker.pool_dialogs'))
    CREATE INDEX [ix_pool_dialogs_conversation] ON [ssbroker].[pool_dialogs] (conversation_handle, pool_name);
GO
