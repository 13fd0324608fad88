-- Removes what 02, 03 and 05 to 12 made, in the order the server enforces: notifications, services, queues, contract, types.
--
-- Messages and conversations of these services go with them. Running it again does nothing.
IF EXISTS (SELECT 1 FROM sys.event_notifications WHERE name = N'DigestQueueActivation')
    DROP EVENT NOTIFICATION [DigestQueueActivation] ON QUEUE [dbo].[DigestQueue];
IF EXISTS (SELECT 1 FROM sys.event_notifications WHERE name = N'DigestQueueDisabled')
    DROP EVENT NOTIFICATION [DigestQueueDisabled] ON QUEUE [dbo].[DigestQueue];
GO
IF EXISTS (SELECT 1 FROM sys.services WHERE name = N'//ssbroker/Notifications') DROP SERVICE [//ssbroker/Notifications];
IF EXISTS (SELECT 1 FROM sys.services WHERE name = N'//ssbroker/digest/Client') DROP SERVICE [//ssbroker/digest/Client];
IF EXISTS (SELECT 1 FROM sys.services WHERE name = N'//ssbroker/digest/Service') DROP SERVICE [//ssbroker/digest/Service];
GO
IF EXISTS (SELECT 1 FROM sys.service_queues WHERE name = N'NotificationQueue') DROP QUEUE [dbo].[NotificationQueue];
IF EXISTS (SELECT 1 FROM sys.service_queues WHERE name = N'DigestReplyQueue') DROP QUEUE [dbo].[DigestReplyQueue];
IF EXISTS (SELECT 1 FROM sys.service_queues WHERE name = N'DigestQueue') DROP QUEUE [dbo].[DigestQueue];
GO
IF EXISTS (SELECT 1 FROM sys.service_contracts WHERE name = N'//ssbroker/digest/Contract')
    DROP CONTRACT [//ssbroker/digest/Contract];
GO
IF EXISTS (SELECT 1 FROM sys.service_message_types WHERE name = N'//ssbroker/digest/Request')
    DROP MESSAGE TYPE [//ssbroker/digest/Request];
IF EXISTS (SELECT 1 FROM sys.service_message_types WHERE name = N'//ssbroker/digest/Reply')
    DROP MESSAGE TYPE [//ssbroker/digest/Reply];
IF EXISTS (SELECT 1 FROM sys.service_message_types WHERE name = N'//ssbroker/EndOfStream')
    DROP MESSAGE TYPE [//ssbroker/EndOfStream];
GO
IF OBJECT_ID(N'ssbroker.attempts', N'U') IS NOT NULL DROP TABLE [ssbroker].[attempts];
IF OBJECT_ID(N'ssbroker.dead_letters', N'U') IS NOT NULL DROP TABLE [ssbroker].[dead_letters];
IF OBJECT_ID(N'ssbroker.pool_dialogs', N'U') IS NOT NULL DROP TABLE [ssbroker].[pool_dialogs];
IF OBJECT_ID(N'ssbroker.pending_messages', N'P') IS NOT NULL DROP PROCEDURE [ssbroker].[pending_messages];
IF OBJECT_ID(N'ssbroker.count_pending', N'P') IS NOT NULL DROP PROCEDURE [ssbroker].[count_pending];
IF OBJECT_ID(N'ssbroker.unsent', N'U') IS NOT NULL DROP TABLE [ssbroker].[unsent];
IF OBJECT_ID(N'ssbroker.sent_messages', N'U') IS NOT NULL DROP TABLE [ssbroker].[sent_messages];
IF OBJECT_ID(N'ssbroker.delayed_messages', N'U') IS NOT NULL DROP TABLE [ssbroker].[delayed_messages];
IF OBJECT_ID(N'ssbroker.waiter_messages', N'U') IS NOT NULL DROP TABLE [ssbroker].[waiter_messages];
IF OBJECT_ID(N'ssbroker.waiters', N'U') IS NOT NULL DROP TABLE [ssbroker].[waiters];
IF OBJECT_ID(N'ssbroker.retries', N'U') IS NOT NULL DROP TABLE [ssbroker].[retries];
IF OBJECT_ID(N'ssbroker.work_items', N'U') IS NOT NULL DROP TABLE [ssbroker].[work_items];
IF OBJECT_ID(N'ssbroker.handled_messages', N'U') IS NOT NULL DROP TABLE [ssbroker].[handled_messages];
IF OBJECT_ID(N'ssbroker.runs', N'U') IS NOT NULL DROP TABLE [ssbroker].[runs];
GO
