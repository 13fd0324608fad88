-- The objects of the sample request_reply.
IF NOT EXISTS (SELECT 1 FROM sys.services WHERE name = N'//quote/service')
BEGIN
    CREATE MESSAGE TYPE [//quote/ask] VALIDATION = NONE;
    CREATE MESSAGE TYPE [//quote/progress] VALIDATION = NONE;
    CREATE MESSAGE TYPE [//quote/price] VALIDATION = NONE;
    CREATE CONTRACT [//quote/contract] (
        [//quote/ask] SENT BY INITIATOR,
        [//quote/progress] SENT BY TARGET,
        [//quote/price] SENT BY TARGET
    );
    CREATE QUEUE [dbo].[QuoteClientQueue];
    CREATE QUEUE [dbo].[QuoteServiceQueue];
    CREATE SERVICE [//quote/client] ON QUEUE [dbo].[QuoteClientQueue];
    CREATE SERVICE [//quote/service] ON QUEUE [dbo].[QuoteServiceQueue] ([//quote/contract]);
END;
