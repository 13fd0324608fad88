-- The objects of the digest example: a client sends bytes, a handler answers with their SHA-256 digest.
--
-- Run it in the database of the queues, after 01. Needs CREATE MESSAGE TYPE, CREATE CONTRACT, CREATE QUEUE and
-- CREATE SERVICE. Running it again changes nothing. Names of message types, contracts and services compare byte by byte.
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types WHERE name = N'//ssbroker/digest/Request')
    CREATE MESSAGE TYPE [//ssbroker/digest/Request] VALIDATION = NONE;
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types WHERE name = N'//ssbroker/digest/Reply')
    CREATE MESSAGE TYPE [//ssbroker/digest/Reply] VALIDATION = NONE;
-- Sent as the last message of a dialog: the target answers it by ending the dialog, so the target ends first.
IF NOT EXISTS (SELECT 1 FROM sys.service_message_types WHERE name = N'//ssbroker/EndOfStream')
    CREATE MESSAGE TYPE [//ssbroker/EndOfStream] VALIDATION = EMPTY;
GO
IF NOT EXISTS (SELECT 1 FROM sys.service_contracts WHERE name = N'//ssbroker/digest/Contract')
    CREATE CONTRACT [//ssbroker/digest/Contract] (
        [//ssbroker/digest/Request] SENT BY INITIATOR,
        [//ssbroker/digest/Reply] SENT BY TARGET,
        [//ssbroker/EndOfStream] SENT BY INITIATOR
    );
GO
IF NOT EXISTS (SELECT 1 FROM sys.service_queues WHERE name = N'DigestReplyQueue')
    CREATE QUEUE [dbo].[DigestReplyQueue];
IF NOT EXISTS (SELECT 1 FROM sys.service_queues WHERE name = N'DigestQueue')
    CREATE QUEUE [dbo].[DigestQueue];
GO
-- The initiator takes replies only, so it names no contract; the target lists what it accepts.
IF NOT EXISTS (SELECT 1 FROM sys.services WHERE name = N'//ssbroker/digest/Client')
    CREATE SERVICE [//ssbroker/digest/Client] ON QUEUE [dbo].[DigestReplyQueue];
IF NOT EXISTS (SELECT 1 FROM sys.services WHERE name = N'//ssbroker/digest/Service')
    CREATE SERVICE [//ssbroker/digest/Service] ON QUEUE [dbo].[DigestQueue] ([//ssbroker/digest/Contract]);
GO
