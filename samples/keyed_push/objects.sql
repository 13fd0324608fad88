-- The objects of the sample keyed_push.
IF NOT EXISTS (SELECT 1 FROM sys.services WHERE name = N'//push/copy')
BEGIN
    CREATE MESSAGE TYPE [//push/change] VALIDATION = NONE;
    CREATE CONTRACT [//push/contract] ([//push/change] SENT BY INITIATOR);
    CREATE QUEUE [dbo].[SourceQueue];
    CREATE QUEUE [dbo].[CopyQueue];
    CREATE SERVICE [//push/source] ON QUEUE [dbo].[SourceQueue];
    CREATE SERVICE [//push/copy] ON QUEUE [dbo].[CopyQueue] ([//push/contract]);
END;
