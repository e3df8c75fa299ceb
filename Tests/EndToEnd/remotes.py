# SPDX-License-Identifier: Apache-2.0
"""Remotes for tests of uploads: SeaweedFS's S3, read by boto3, and the WebDAV server of rclone."""

import contextlib
import json
import signal
import socket
import subprocess

import boto3
import botocore.config
import botocore.exceptions
from stage import LIMIT, ROOT, free_port

KEY, SECRET = "tapedeck-key", "secret-of-s3-that-nobody-may-see"
# May read and write, in the one bucket.
PLAIN_KEY, PLAIN_SECRET = "plain-key", "secret-of-plain-that-nobody-may-see"
READER_KEY, READER_SECRET = "reader-key", "secret-of-reader-that-nobody-may-see"
PASSWORD = "secret-of-webdav-that-nobody-may-see"


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


class SeaweedFS:
    """An S3 server with one bucket; unless it is to be `down`, until `start`."""

    def __init__(self, stage, bucket="recordings", down=False):
        self.stage, self.bucket = stage, bucket
        self.folder = stage.folder / "seaweedfs"
        self.folder.mkdir()
        identities = [
            {"name": "admin", "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
             "actions": ["Admin", "Read", "Write", "List", "Tagging"]},
            {"name": "plain", "credentials": [{"accessKey": PLAIN_KEY, "secretKey": PLAIN_SECRET}],
             "actions": [f"Read:{bucket}", f"Write:{bucket}", f"List:{bucket}"]},
            {"name": "reader", "credentials": [{"accessKey": READER_KEY, "secretKey": READER_SECRET}],
             "actions": [f"Read:{bucket}", f"List:{bucket}"]}]
        (self.folder / "s3.json").write_text(json.dumps({"identities": identities}))
        self.ports = {name: free_port() for name in
                      ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port",
                       "filer.port.grpc", "s3.port", "s3.port.grpc")}
        if not down:
            self.start()

    def start(self):
        flags = [f"-{name}={port}" for name, port in self.ports.items()]
        self.process = self.stage.start(
            "seaweedfs", ROOT / ".venv" / "peers" / "bin" / "weed", "server", f"-dir={self.folder}", "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1", "-s3", f"-s3.config={self.folder / 's3.json'}", "-s3.port.iceberg=0",
            "-s3.port.lance=0", "-master.telemetry=false", "-volume.max=20", "-volume.preStopSeconds=0",
            "-master.volumeSizeLimitMB=64", *flags)
        # It takes 15 s to end in order.
        self.process.end_signal = signal.SIGKILL

        def is_up():
            with contextlib.suppress(botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError):
                self.client().create_bucket(Bucket=self.bucket)
                return True
            return False
        self.process.wait_for("S3", is_up, LIMIT)

    @property
    def port(self):
        return self.ports["s3.port"]

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    def client(self):
        """A foreign reader."""
        once = botocore.config.Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
        return boto3.client("s3", endpoint_url=self.endpoint, region_name="us-east-1", aws_access_key_id=KEY,
                            aws_secret_access_key=SECRET, config=once, verify=False)

    def section(self, name="arc", key=PLAIN_KEY, secret=PLAIN_SECRET, endpoint=None):
        """A remote in rclone's configuration."""
        return (f"[{name}]\ntype = s3\nprovider = Other\naccess_key_id = {key}\nsecret_access_key = {secret}\n"
                f"endpoint = {endpoint or self.endpoint}\n")

    def sizes(self):
        """The size of each object by its key."""
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=self.bucket)
        return {item["Key"]: item["Size"] for page in pages for item in page.get("Contents", [])}

    def objects(self):
        """Bytes of each object by its key, in the order in which they were written."""
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=self.bucket)
        found = [item for page in pages for item in page.get("Contents", [])]
        found.sort(key=lambda item: item["LastModified"])
        return {item["Key"]: self.client().get_object(Bucket=self.bucket, Key=item["Key"])["Body"].read()
                for item in found}

    def put(self, key, content):
        self.client().put_object(Bucket=self.bucket, Key=key, Body=content)

    def unfinished(self):
        """Keys of multipart uploads that are not complete."""
        answer = self.client().list_multipart_uploads(Bucket=self.bucket)
        return [upload["Key"] for upload in answer.get("Uploads", [])]


class WebDAV:
    """A WebDAV server without checksums."""

    def __init__(self, stage):
        self.folder = stage.folder / "webdav"
        self.folder.mkdir()
        self.port = free_port()
        self.process = stage.start("webdav", "rclone", "serve", "webdav", self.folder, "--addr", f"127.0.0.1:{self.port}",
                                   "--user", "tapedeck", "--pass", PASSWORD)
        self.process.wait_for("WebDAV", lambda: answers(self.port), LIMIT)

    def section(self, name="cloud", password=PASSWORD, endpoint=None):
        hidden = subprocess.run(["rclone", "obscure", password], capture_output=True, text=True, check=True).stdout.strip()
        return (f"[{name}]\ntype = webdav\nurl = {endpoint or f'http://127.0.0.1:{self.port}'}\nvendor = other\nuser = tapedeck\n"
                f"pass = {hidden}\n")

    def sizes(self):
        """The size of each file by its path, those that are written last looked at first."""
        found = sorted(self.folder.rglob("*"), key=lambda path: path.name != "manifest.json")
        return {str(path.relative_to(self.folder)): path.stat().st_size for path in found if path.is_file()}

    def objects(self):
        """Bytes of each file by its path."""
        return {name: (self.folder / name).read_bytes() for name in self.sizes()}

    def put(self, name, content):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(content)

    def unfinished(self):
        """It has no such thing."""
        return []
