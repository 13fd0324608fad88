"""Sends twenty requests on one dialog with pymssql, and checks the replies of the Rust worker at the other end.

Usage: exchange.py PORT, with the password of sa in SMOKE_PASSWORD.
"""
import os
import sys

import pymssql

COUNT = 20

connection = pymssql.connect(server="127.0.0.1", port=sys.argv[1], user="sa", password=os.environ["SMOKE_PASSWORD"],
                             database="msdb", autocommit=True, encryption="off", tds_version="7.4")
cursor = connection.cursor()
cursor.execute("""
    DECLARE @handle uniqueidentifier;
    BEGIN DIALOG CONVERSATION @handle FROM SERVICE [//ssbroker/digest/Client] TO SERVICE '//ssbroker/digest/Service'
        ON CONTRACT [//ssbroker/digest/Contract] WITH ENCRYPTION = OFF;
    SELECT @handle;""")
handle = str(cursor.fetchone()[0])
bodies = [("request %d" % number).encode() for number in range(COUNT)]
for body in bodies:
    cursor.execute("SEND ON CONVERSATION %s MESSAGE TYPE [//ssbroker/digest/Request] (%s);", (handle, bytearray(body)))
replies = []
while len(replies) < COUNT:
    cursor.execute("WAITFOR (RECEIVE message_type_name, message_body FROM [dbo].[DigestReplyQueue]), TIMEOUT 10000;")
    rows = cursor.fetchall()
    if not rows:
        sys.exit("no reply within ten seconds after %d" % len(replies))
    replies.extend(rows)
wanted = [("//ssbroker/digest/Reply", body[::-1]) for body in bodies]
if [(kind, bytes(body)) for kind, body in replies] != wanted:
    sys.exit("wrong replies: %r" % replies)
cursor.execute("END CONVERSATION %s;", (handle,))
print("%d replies" % len(replies))
