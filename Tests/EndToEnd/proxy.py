# SPDX-License-Identifier: Apache-2.0
"""Stands between clients and a server, so that the server can go and another one be there at once."""

import contextlib
import socket
import threading


class Proxy:
    """Listens on a separate port until it is closed; `target` is the port where new connections go."""

    address = "127.0.0.1"

    def __init__(self, target):
        self.target, self.open = target, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self.target))
                except OSError:
                    client.close()
                    continue
                self.open += [client, server]
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self.pump, args=pair, daemon=True).start()

    def pump(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)

    def cut(self):
        """Ends every connection; takes new ones all the same."""
        opened, self.open = self.open, []
        for each in opened:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listener.close()
        self.cut()
