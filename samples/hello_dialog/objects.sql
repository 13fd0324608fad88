-- The objects of the sample hello_dialog.
IF NOT EXISTS (SELECT 1 FROM sys.services WHERE name = N'//hello/target')
BEGIN
    CREATE MESSAGE TYPE [//hello/greeting] VALIDATION = NONE;
    CREATE MESSAGE TYPE [//hello/answer] VALIDATION = NONE;
    CREATE CONTRACT [//hello/contract] ([//hello/greeting] SENT BY INITIATOR, [//hello/answer] SENT BY TARGET);
    CREATE QUEUE [dbo].[HelloInitiatorQueue];
    CREATE QUEUE [dbo].[HelloTargetQueue];
    CREATE SERVICE [//hello/initiator] ON QUEUE [dbo].[HelloInitiatorQueue];
    CREATE SERVICE [//hello/target] ON QUEUE [dbo].[HelloTargetQueue] ([//hello/contract]);
END;
