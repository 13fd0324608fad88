-- Turns Service Broker on in the current database.
--
-- Needs ALTER on the database. Enabling waits until no other session uses the database, and it is never forced here: to
-- throw the others out, run the statement yourself WITH ROLLBACK IMMEDIATE.
IF EXISTS (SELECT 1 FROM sys.databases WHERE database_id = DB_ID() AND is_broker_enabled = 0)
    ALTER DATABASE CURRENT SET ENABLE_BROKER;
GO
