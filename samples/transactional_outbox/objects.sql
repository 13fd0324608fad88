-- The objects of the sample transactional_outbox: the shop's own table, and the services of shop and dispatch.
IF NOT EXISTS (SELECT 1 FROM sys.services WHERE name = N'//outbox/dispatch')
BEGIN
    CREATE MESSAGE TYPE [//outbox/sold] VALIDATION = NONE;
    CREATE CONTRACT [//outbox/contract] ([//outbox/sold] SENT BY INITIATOR);
    CREATE QUEUE [dbo].[ShopQueue];
    CREATE QUEUE [dbo].[DispatchQueue];
    CREATE SERVICE [//outbox/shop] ON QUEUE [dbo].[ShopQueue];
    CREATE SERVICE [//outbox/dispatch] ON QUEUE [dbo].[DispatchQueue] ([//outbox/contract]);
    CREATE TABLE [dbo].[Stock] (item nvarchar(100) NOT NULL PRIMARY KEY, pieces int NOT NULL);
    INSERT INTO [dbo].[Stock] (item, pieces) VALUES (N'teapot', 10);
END;
