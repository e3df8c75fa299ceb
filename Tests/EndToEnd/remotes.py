# SPDX-License-Identifier: Apache-2.0
"""Remotes for tests of uploads: S3 of SeaweedFS and of Ceph, read by boto3, and the WebDAV server of rclone."""

import contextlib
import json
import os
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


class S3:
    """An S3 server with one bucket."""

    bucket = "recordings"
    process = port = None

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    def wait(self, locks):
        """Waits for the server, and makes the bucket; if it `locks`, no version of an object may be deleted for a day."""
        def is_up():
            with contextlib.suppress(botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError):
                self.client().create_bucket(Bucket=self.bucket, ObjectLockEnabledForBucket=locks)
                return True
            return False
        self.process.wait_for("S3", is_up, LIMIT)
        if locks:
            rule = {"ObjectLockEnabled": "Enabled", "Rule": {"DefaultRetention": {"Mode": "COMPLIANCE", "Days": 1}}}
            self.client().put_object_lock_configuration(Bucket=self.bucket, ObjectLockConfiguration=rule)

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

    def versions(self):
        """Key and id of each version of an object, of which a client's deletion leaves all."""
        pages = self.client().get_paginator("list_object_versions").paginate(Bucket=self.bucket)
        return [(item["Key"], item["VersionId"]) for page in pages for item in page.get("Versions", [])]

    def put(self, key, content):
        self.client().put_object(Bucket=self.bucket, Key=key, Body=content)

    def unfinished(self):
        """Keys of multipart uploads that are not complete."""
        answer = self.client().list_multipart_uploads(Bucket=self.bucket)
        return [upload["Key"] for upload in answer.get("Uploads", [])]


class SeaweedFS(S3):
    """SeaweedFS; unless it is to be `down`, until `start`."""

    def __init__(self, stage, locks=False, down=False, volumes=20):
        self.stage, self.locks, self.volumes, bucket = stage, locks, volumes, self.bucket
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
        self.port = self.ports["s3.port"]
        if not down:
            self.start()

    def start(self):
        flags = [f"-{name}={port}" for name, port in self.ports.items()]
        self.process = self.stage.start(
            "seaweedfs", ROOT / ".venv" / "peers" / "bin" / "weed", "server", f"-dir={self.folder}", "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1", "-s3", f"-s3.config={self.folder / 's3.json'}", "-s3.port.iceberg=0",
            "-s3.port.lance=0", "-master.telemetry=false", f"-volume.max={self.volumes}", "-volume.preStopSeconds=0",
            "-master.volumeSizeLimitMB=64", *flags)
        # It takes 15 s to end in order.
        self.process.end_signal = signal.SIGKILL
        self.wait(self.locks)


# One monitor and one OSD. Without authentication the gateway would insist on encryption, which is not to be had then.
CEPH = """
[global]
fsid = 11111111-1111-1111-1111-111111111111
mon host = v2:127.0.0.1:{monitor}
public addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
keyring = {folder}/keyring
run dir = {folder}
crash dir = {folder}
log file = {folder}/$name.log
admin socket =
pid file = {folder}/$name.pid
mon data = {folder}/monitor
mon data avail crit = 1
mon allow pool size one = true
osd data = {folder}/osd
osd journal =
osd objectstore = memstore
memstore device bytes = 4294967296
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
rgw data = {folder}/gateway
rgw frontends = beast endpoint=127.0.0.1:{port}
rgw enable apis = s3
"""


class Ceph(S3):
    """The S3 gateway of Ceph (Debian's packages ceph-mon, ceph-osd and radosgw); what it stores is in memory.

    Variables in `of_gateway` are for the gateway alone.
    """

    def __init__(self, stage, locks=False, of_gateway=None):
        self.stage, self.folder = stage, stage.folder / "ceph"
        for name in ("monitor", "osd", "gateway"):
            (self.folder / name).mkdir(parents=True)
        monitor, self.port = free_port(), free_port()
        path, keyring, monitors = (self.folder / name for name in ("ceph.conf", "keyring", "monitors"))
        path.write_text(CEPH.format(folder=self.folder, monitor=monitor, port=self.port))
        self.variables = {"CEPH_CONF": str(path)}
        self.run("ceph-authtool", "--create-keyring", "--gen-key", "-n", "client.admin", keyring)
        self.run("ceph-authtool", "--gen-key", "-n", "client.gateway", keyring)
        self.run("monmaptool", "--create", "--addv", "a", f"[v2:127.0.0.1:{monitor}]", monitors)
        self.run("ceph-mon", "--mkfs", "-i", "a", "--monmap", monitors)
        self.begin("ceph-mon", "-f", "-i", "a")
        self.run("ceph", "osd", "create")
        self.run("ceph-osd", "--mkfs", "-i", "0")
        self.run("ceph", "osd", "crush", "add", "osd.0", "1.0", "root=default", "host=here")
        self.begin("ceph-osd", "-f", "-i", "0")
        self.process = self.begin("radosgw", "-f", "-n", "client.gateway", **(of_gateway or {}))
        user = ("--uid=tapedeck", f"--access-key={KEY}", f"--secret={SECRET}")
        self.run("radosgw-admin", "user", "create", "--display-name=tapedeck", *user)
        self.run("radosgw-admin", "key", "create", "--uid=tapedeck", f"--access-key={PLAIN_KEY}", f"--secret={PLAIN_SECRET}")
        self.wait(locks)

    def run(self, *command):
        done = subprocess.run(command, env=os.environ | self.variables, capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 0, f"{command}: {done.stderr}"

    def begin(self, *command, **variables):
        process = self.stage.start(command[0], *command, secrets=self.variables | variables)
        # An OSD that ends in order waits for a monitor, which ends as well.
        process.end_signal = signal.SIGKILL
        return process


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
