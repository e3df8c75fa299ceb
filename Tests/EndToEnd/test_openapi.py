# SPDX-License-Identifier: Apache-2.0
"""The HTTP interface of a running daemon against its OpenAPI document, with schemathesis."""

import http.client
import json
import re
import ssl
import subprocess
import urllib.parse

import pytest
import yaml
from daemon import Daemon
from stage import ROOT

TOKEN = "an-openapi-test-token-of-some-length"

# Data that fit the document may still be wrong for the daemon: an unknown room, a definition without a URL, a range
# behind a file's end, a worker that is not there, a wrong token that is sent once too often.
SETTINGS = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 304, 401, 403, 404, 409, 412, 416, 422, 429, 503]
[checks.ignored_auth]
enabled = false
"""


@pytest.fixture
def daemon(stage):
    # Nothing listens on the discard port: the room is tried again and again, as in real life.
    rooms = {"standup": {"url": "socketio+http://127.0.0.1:9/standup", "join": "on-demand"}}
    api = {"listen": "127.0.0.1:0", "token": TOKEN, "requests_per_second": 2000}
    return Daemon(stage, rooms, api=api)


def ask(daemon, method, path, headers=None, body=None, token=TOKEN):
    """One request whose path is sent as it is; status, header fields and body of the answer."""
    address = urllib.parse.urlsplit(daemon.url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    try:
        credentials = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request(method, path, body=body, headers={**credentials, **(headers or {})},
                           encode_chunked="Transfer-Encoding" in (headers or {}))
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def documented_operations():
    """Method and path of every operation in the document."""
    paths = yaml.safe_load((ROOT / "Sources" / "Control" / "OpenAPI" / "openapi.yaml").read_text())["paths"]
    return {(method, path) for path, item in paths.items() for method in item
            if method in ("get", "put", "post", "patch", "delete", "head", "options")}


@pytest.mark.timeout(700)
def test_the_interface_is_what_its_document_says(stage, daemon):
    settings = stage.folder / "schemathesis.toml"
    settings.write_text(SETTINGS)
    # A stream of events has no end that could be waited for.
    tester = stage.start("schemathesis", ROOT / ".venv" / "peers" / "bin" / "schemathesis", "--config-file", settings,
                         "run", f"{daemon.url.rstrip('/')}/v1/openapi.yaml", "--exclude-path", "/v1/events",
                         "--max-examples", "15", "--generation-deterministic", "--request-timeout", "90",
                         "--header", f"Authorization: Bearer {TOKEN}", "--no-color")
    code = tester.wait(600)
    assert code == 0, tester.output
    tested = re.search(r"Tested:\s+(\d+)", tester.output)
    # The operation that gives the document itself is the one it was fetched with.
    left_out = {("get", "/v1/events"), ("get", "/v1/openapi.yaml")}
    assert tested and int(tested[1]) == len(documented_operations() - left_out), tester.output
    passed = re.search(r"(\d+) passed", tester.output)
    assert passed and "failed" not in tester.output, tester.output
    status, _, body = ask(daemon, "GET", "/healthz")
    assert status == 200 and json.loads(body)["live"], body


def test_the_served_document_is_the_one_in_docs(daemon):
    status, headers, body = ask(daemon, "GET", "/v1/openapi.yaml", token=None)
    assert status == 200 and headers["Content-Type"].startswith("application/yaml")
    assert body == (ROOT / "Sources" / "Control" / "OpenAPI" / "openapi.yaml").read_bytes()


@pytest.mark.parametrize("template", [
    "/v1/rooms/{}", "/v1/rooms/{}/graphs", "/v1/rooms/{}/participants/a/thumbnail.jpg",
    "/v1/rooms/standup/participants/{}/thumbnail.jpg", "/v1/recordings/{}", "/v1/recordings/{}/exports",
    "/v1/recordings/{}/files/manifest.json", "/v1/recordings/x/files/{}", "/{}"])
def test_no_path_leads_out_of_the_storage(daemon, template):
    names = ["..", "../..", "%2e%2e", "..%2f..%2f..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "..%5c..%5cetc%5cpasswd",
             "%252e%252e%252f", "%00", "a%00", "%c0%ae%c0%ae%c0%af", "%ed%a0%80", "%ff", "%", "%zz", "%0a", "a" * 5000,
             "..%2f" * 1000, "....//....//etc/passwd", "~root", "*"]
    for name in names:
        status, headers, body = ask(daemon, "GET", template.format(name))
        # 409: the room is there and the name is not looked at, because no worker is in it.
        assert status in (400, 404, 409, 414), f"{name}: {status} {body[:200]}"
        assert headers["Content-Type"] == "application/problem+json", name
        assert b"root:" not in body, name


def test_a_body_of_a_hundred_megabytes_is_refused(daemon):
    def pieces():
        for _ in range(100):
            yield b"x" * 1_000_000
    for headers in ({"Content-Length": "100000000"}, {"Transfer-Encoding": "chunked"}):
        try:
            status, _, body = ask(daemon, "POST", "/v1/rooms", {"Content-Type": "application/json", **headers},
                                  b"" if "Content-Length" in headers else pieces())
            assert status == 413 and b"content-too-large" in body
        except (BrokenPipeError, ConnectionResetError):
            # The server may close before the client has sent all of it.
            pass
    assert ask(daemon, "GET", "/healthz")[0] == 200


def test_no_answer_and_no_log_tells_the_token(daemon):
    said = []
    for path in ("/v1/rooms", "/v1/overview", "/v1/session", "/metrics", "/nothing", "/v1/rooms/x"):
        _, headers, body = ask(daemon, "GET", path)
        said.append(str(headers).encode() + body)
    status, headers, body = ask(daemon, "POST", "/v1/session", {"Content-Type": "application/json"},
                                json.dumps({"token": TOKEN}))
    assert status == 200 and "HttpOnly" in headers["Set-Cookie"]
    said += [str(headers).encode(), body, daemon.process.output.encode(), daemon.process.messages.encode()]
    assert TOKEN.encode() not in b"".join(said)
    for folder in daemon.storage.rglob("*"):
        assert not folder.is_file() or TOKEN.encode() not in folder.read_bytes(), folder


def test_the_interface_speaks_tls(stage):
    certificate, key = stage.folder / "certificate.pem", stage.folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key,
                    "-out", certificate], check=True, capture_output=True)
    tls = {"certificate": str(certificate), "key": str(key)}
    daemon = Daemon(stage, {}, api={"listen": "127.0.0.1:0", "token": TOKEN, "tls": tls})
    port = urllib.parse.urlsplit(daemon.url).port
    connection = http.client.HTTPSConnection("localhost", port, timeout=60,
                                             context=ssl.create_default_context(cafile=certificate))
    connection.request("POST", "/v1/session", json.dumps({"token": TOKEN}), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    assert answer.status == 200 and "Secure" in answer.headers["Set-Cookie"], answer.read()
    answer.read()
    cookie = answer.headers["Set-Cookie"].split(";")[0]
    connection.request("GET", "/v1/rooms", headers={"Cookie": cookie})
    answer = connection.getresponse()
    assert answer.status == 200 and json.loads(answer.read()) == {"rooms": []}
    connection.close()
    # The certificate has no issuer that is trusted, and the commands say that.
    refused = stage.run_tapedeck("rooms", "--api", daemon.url)
    assert refused.exit_code == 3 and "no secure connection" in refused.messages, refused.story()
    # Plain HTTP to a TLS port gets no answer, and does no harm.
    plain = http.client.HTTPConnection("localhost", port, timeout=60)
    with pytest.raises((http.client.HTTPException, OSError)):
        plain.request("GET", "/healthz")
        plain.getresponse()
