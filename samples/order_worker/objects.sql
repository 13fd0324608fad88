-- The objects of the sample order_worker.
IF NOT EXISTS (SELECT 1 FROM sys.services WHERE name = N'//orders/shop')
BEGIN
    CREATE MESSAGE TYPE [//orders/order] VALIDATION = NONE;
    CREATE MESSAGE TYPE [//orders/confirmed] VALIDATION = NONE;
    CREATE CONTRACT [//orders/contract] ([//orders/order] SENT BY INITIATOR, [//orders/confirmed] SENT BY TARGET);
    CREATE QUEUE [dbo].[CustomerQueue];
    CREATE QUEUE [dbo].[OrderQueue];
    CREATE SERVICE [//orders/customer] ON QUEUE [dbo].[CustomerQueue];
    CREATE SERVICE [//orders/shop] ON QUEUE [dbo].[OrderQueue] ([//orders/contract]);
    CREATE TABLE [dbo].[Orders] (number int NOT NULL, item nvarchar(100) NOT NULL);
END;
