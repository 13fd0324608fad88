-- One order, as the application sends it.
DECLARE @dialog uniqueidentifier;
BEGIN DIALOG CONVERSATION @dialog FROM SERVICE [//orders/Shop] TO SERVICE '//orders/Orders'
    ON CONTRACT [//orders/Contract] WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @dialog MESSAGE TYPE [//orders/Order] (N'ten chairs');
GO
