# SPDX-License-Identifier: Apache-2.0
"""An HTTP proxy in front of a server, and what it may do to a request: answer in the server's place, lose, delay or change it."""

import contextlib
import http.client
import http.server
import socket
import struct
import threading
import time

# Headers that concern one connection (RFC 9110 section 7.6.1), and what the proxy has answered itself.
OF_CONNECTION = {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "expect"}


class Exchange(http.server.BaseHTTPRequestHandler):
    """A request, and what is done with it."""

    protocol_version = "HTTP/1.1"

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        proxy = self.server.proxy
        proxy.seen.append((self.command, self.path))
        with contextlib.suppress(ConnectionError):
            (proxy.fault or pass_on)(self, body)

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = do_PROPFIND = do_MKCOL = do_MOVE = do_OPTIONS = handle_request

    def ask(self, body):
        """What the server answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.proxy.target, timeout=120)
        with contextlib.closing(connection):
            # As it was signed: with the proxy's name, and not one header more.
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in OF_CONNECTION:
                    connection.putheader(name, value)
            connection.endheaders(body or None)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()

    def answer(self, status, headers, body):
        self.send_response_only(status)
        for name, value in headers:
            is_length = name.lower() == "content-length"
            if name.lower() not in OF_CONNECTION and (self.command == "HEAD" or not is_length):
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def reset(self):
        """Ends the connection as a host does whose program died."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        # The file objects hold the socket open.
        self.rfile.close()
        self.wfile.close()
        self.connection.close()

    def log_message(self, *arguments):
        pass


class FaultProxy:
    """Listens on a port of its own; `fault` says what is done with each request, None is to pass it on.

    It may listen on a host of a network, which is `entered` for that; the server is on this machine all the same.
    """

    def __init__(self, target, address="127.0.0.1", entered=contextlib.nullcontext()):
        self.target, self.fault = target, None
        # Method and path of each request.
        self.seen = []
        with entered:
            self.server = http.server.ThreadingHTTPServer((address, 0), Exchange)
        self.server.daemon_threads, self.server.proxy = True, self
        self.server.handle_error = lambda *arguments: None
        self.url = f"http://{address}:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


# Faults: functions of an exchange and the body of its request.

def pass_on(exchange, body):
    exchange.answer(*exchange.ask(body))


def says(status, code=""):
    """An error as S3 tells it, or one of plain HTTP."""
    def fault(exchange, body):
        text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>" if code else ""
        exchange.answer(status, [("Content-Type", "application/xml")], text.encode())
    return fault


def resets(exchange, body):
    exchange.reset()


def is_slow(exchange, body):
    time.sleep(0.5)
    pass_on(exchange, body)


def alters(exchange, body):
    """Changes a byte on the way."""
    pass_on(exchange, bytes([body[0] ^ 1]) + body[1:] if exchange.command == "PUT" and body else body)


def swallows(exchange, body):
    """Answers 200 with an error inside, and keeps nothing."""
    (says(200, "InternalError") if exchange.command == "PUT" else pass_on)(exchange, body)


def loses_complete(exchange, body):
    """Has the server complete a multipart upload, and loses its answer."""
    if exchange.command == "POST" and "uploadId=" in exchange.path:
        exchange.ask(body)
        exchange.reset()
    else:
        pass_on(exchange, body)


def complete_fails(exchange, body):
    """Answers 200 to the end of a multipart upload, with an error inside, as S3 does when it finds one late."""
    if exchange.command == "POST" and "uploadId=" in exchange.path:
        says(200, "InternalError")(exchange, body)
    else:
        pass_on(exchange, body)
