-- Lets an external activator hear of messages in DigestQueue, and of the queue being switched off: a notification service,
-- and event notifications that send to it.
--
-- Run it in the database of the queues, after 02. Needs CREATE QUEUE, CREATE SERVICE and ALTER on the watched queue.
-- The contract name begins with http://, never https://: some manual pages print it wrong, and it compares byte by byte.
IF NOT EXISTS (SELECT 1 FROM sys.service_queues WHERE name = N'NotificationQueue')
    CREATE QUEUE [dbo].[NotificationQueue];
GO
IF NOT EXISTS (SELECT 1 FROM sys.services WHERE name = N'//ssbroker/Notifications')
    CREATE SERVICE [//ssbroker/Notifications] ON QUEUE [dbo].[NotificationQueue]
        ([http://schemas.microsoft.com/SQL/Notifications/PostEventNotification]);
GO
-- A queue has either internal activation or event notifications, not both (error 9718).
IF NOT EXISTS (SELECT 1 FROM sys.event_notifications WHERE name = N'DigestQueueActivation')
    CREATE EVENT NOTIFICATION [DigestQueueActivation] ON QUEUE [dbo].[DigestQueue]
        FOR QUEUE_ACTIVATION TO SERVICE '//ssbroker/Notifications', 'current database';
GO
-- Five roll backs in a row switch a queue off. With this the activator is told at once, and can tell the server's doing from
-- a person's; without it a look once a minute finds it.
IF NOT EXISTS (SELECT 1 FROM sys.event_notifications WHERE name = N'DigestQueueDisabled')
    CREATE EVENT NOTIFICATION [DigestQueueDisabled] ON QUEUE [dbo].[DigestQueue]
        FOR BROKER_QUEUE_DISABLED TO SERVICE '//ssbroker/Notifications', 'current database';
GO
