-- What to look at when a message is stuck. Reads only; run it in the database of the queues.
--
-- Rows of sys.transmission_queue show to members of db_owner only; sys.dm_broker_queue_monitors needs VIEW SERVER STATE.

-- Is the broker on?
SELECT name, is_broker_enabled, service_broker_guid FROM sys.databases WHERE database_id = DB_ID();
-- Is a queue switched off? Five roll backs in a row do that.
SELECT name, is_receive_enabled, is_enqueue_enabled, is_activation_enabled
FROM sys.service_queues WHERE is_ms_shipped = 0;
-- Which messages could not be delivered, and why?
SELECT to_service_name, message_type_name, enqueue_time, transmission_status FROM sys.transmission_queue;
-- Are conversations left open? DISCONNECTED_INBOUND and ERROR wait for our END CONVERSATION.
SELECT state_desc, is_initiator, COUNT(*) AS conversations
FROM sys.conversation_endpoints WHERE is_system = 0 GROUP BY state_desc, is_initiator;
-- Does the queue monitor wait for a RECEIVE that never came (state NOTIFIED)?
SELECT q.name, m.state, m.tasks_waiting, m.last_empty_rowset_time
FROM sys.dm_broker_queue_monitors AS m JOIN sys.service_queues AS q ON q.object_id = m.queue_id
WHERE m.database_id = DB_ID();
-- Do the event notifications still exist? They vanish when somebody ends their conversation.
SELECT n.name, q.name AS queue_name, n.service_name
FROM sys.event_notifications AS n JOIN sys.service_queues AS q ON q.object_id = n.parent_id;
GO
