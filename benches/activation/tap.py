"""Stands between a daemon and its server and notes when a notification passes."""

import contextlib
import socket
import threading
import time

NOTIFICATION = "QUEUE_ACTIVATION".encode("utf-16-le")


class Tap:
    """Passes on what comes to its port. Needs a connection that is not encrypted after login."""

    def __init__(self, server_port):
        self.server_port = server_port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.passed = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.server_port))
                for end in client, server:
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.forward, args=(client, server, False), daemon=True).start()
                threading.Thread(target=self.forward, args=(server, client, True), daemon=True).start()

    def forward(self, source, target, from_server):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if from_server and NOTIFICATION in data:
                    self.passed.append(time.time_ns())
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def close(self):
        self.listener.close()
