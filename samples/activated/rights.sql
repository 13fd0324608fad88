-- A login for the activator with what it needs, and nothing more. Run it in the database Orders, after objects.sql and
-- ../../sql/05-dead-letters.sql, as somebody who may create logins; choose another password.
CREATE LOGIN [ea] WITH PASSWORD = N'Only-what-1t-needs';
CREATE USER [ea] FOR LOGIN [ea];
GO
-- To listen.
GRANT RECEIVE ON [dbo].[NotificationQueue] TO [ea];
GRANT VIEW DEFINITION ON SERVICE::[//orders/Notifications] TO [ea];
GO
-- To receive for a handler that is fed, and to count failures and keep dead letters. A handler of kind "launch" receives
-- with a login of its own.
GRANT RECEIVE ON [dbo].[OrderQueue] TO [ea];
GRANT SELECT, INSERT, UPDATE, DELETE ON SCHEMA::[ssbroker] TO [ea];
GO
-- To notice lost notifications, dropped event notifications and a queue that is off. Without them it works, and says once what
-- it cannot see.
GRANT SELECT ON [dbo].[OrderQueue] TO [ea];
GRANT VIEW DEFINITION TO [ea];
GO
USE [master];
GRANT VIEW SERVER STATE TO [ea];
GO
