-- Messages that are to be sent later: a row each, sent and deleted in one transaction by a pump of the client library.
--
-- Run it in the database of the sending service. Needs CREATE SCHEMA and CREATE TABLE once; a sender then needs INSERT,
-- a pump SELECT, UPDATE and DELETE on the table.
IF SCHEMA_ID(N'ssbroker') IS NULL EXEC (N'CREATE SCHEMA [ssbroker]');
GO
IF OBJECT_ID(N'ssbroker.delayed_messages', N'U') IS NULL
    CREATE TABLE [ssbroker].[delayed_messages] (
        id bigint IDENTITY(1, 1) NOT NULL CONSTRAINT [pk_delayed_messages] PRIMARY KEY,
        due datetime2(3) NOT NULL,
        from_service_name nvarchar(256) NOT NULL,
        to_service_name nvarchar(256) NOT NULL,
        contract_name nvarchar(256) NULL,
        broker_instance nvarchar(128) NULL,
        order_key nvarchar(400) NULL,
        message_type_name nvarchar(256) NOT NULL,
        message_body varbinary(max) NULL,
        CONSTRAINT [uq_delayed_messages_due] UNIQUE (due, id)
    );
GO
