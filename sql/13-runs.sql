-- Table of the runs of handlers: how each ended, how long it took, and what it said last.
--
-- Run it in the database of the notification service that [history] in activator.toml names. The activator's user needs
-- SELECT, INSERT and DELETE on it; it removes rows that are older than 30 days. Times are in UTC. exit_code or signal is NULL,
-- and both are when nobody could tell how the process ended.
IF SCHEMA_ID(N'ssbroker') IS NULL EXEC (N'CREATE SCHEMA [ssbroker]');
GO
IF OBJECT_ID(N'ssbroker.runs', N'U') IS NULL
    CREATE TABLE [ssbroker].[runs] (
        launch_id uniqueidentifier NOT NULL,
        app nvarchar(256) NOT NULL,
        host nvarchar(256) NOT NULL,
        pid int NULL,
        ended datetime2(3) NOT NULL,
        seconds float NULL,
        exit_code int NULL,
        signal int NULL,
        stderr_tail nvarchar(max) NOT NULL,
        CONSTRAINT [pk_runs] PRIMARY KEY (launch_id),
        INDEX [ix_runs_ended] (ended),
        INDEX [ix_runs_app] (app, ended)
    );
GO
