-- What the old installation has in its database already: a queue of orders, and the event notification for it. Only the
-- sample needs this script. Run it in a database called Orders, and ../../sql/05-dead-letters.sql after it.
CREATE MESSAGE TYPE [//orders/Order] VALIDATION = NONE;
CREATE MESSAGE TYPE [//orders/Receipt] VALIDATION = NONE;
GO
CREATE CONTRACT [//orders/Contract] ([//orders/Order] SENT BY INITIATOR, [//orders/Receipt] SENT BY TARGET);
GO
CREATE QUEUE [dbo].[OrderQueue];
CREATE QUEUE [dbo].[ReceiptQueue];
CREATE QUEUE [dbo].[NotificationQueue];
GO
CREATE SERVICE [//orders/Shop] ON QUEUE [dbo].[ReceiptQueue];
CREATE SERVICE [//orders/Orders] ON QUEUE [dbo].[OrderQueue] ([//orders/Contract]);
CREATE SERVICE [//orders/Notifications] ON QUEUE [dbo].[NotificationQueue]
    ([http://schemas.microsoft.com/SQL/Notifications/PostEventNotification]);
GO
CREATE EVENT NOTIFICATION [OrderQueueActivation] ON QUEUE [dbo].[OrderQueue]
    FOR QUEUE_ACTIVATION TO SERVICE '//orders/Notifications', 'current database';
GO
