#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what a binary is made of, as CycloneDX 1.5 in JSON: the Swift packages of which it has objects, with the versions of
Package.resolved; Swift itself; and the Debian packages of the libraries that it loads, with the versions of this host.

The binary is where SwiftPM built it. SOURCE_DATE_EPOCH is the time that the list states.

Example: SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) .ci/parts.py --binary .build/release/tapedeck --version 0.1.0 --commit HEAD
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import uuid

SOURCES = (".swift", ".c", ".cc", ".cpp", ".S")


def said(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def linked_packages(binary):
    """Folder names of the checkouts of which an object is in the binary, as SwiftPM's plan of the build has them."""
    objects = set((binary.parent / "tapedeck.product/Objects.LinkFileList").read_text().replace("'", "").split("\n"))
    plan = binary.parents[2] / f"{binary.parent.name}.yaml"
    found, inputs = set(), []
    for line in plan.read_text().splitlines():
        key, _, value = line.strip().partition(": ")
        if key == "inputs":
            inputs = json.loads(value)
        elif key == "outputs" and not objects.isdisjoint(json.loads(value)):
            found.update(match[1] for path in inputs if path.endswith(SOURCES)
                         for match in [re.search(r"/checkouts/([^/]+)/", path)] if match)
    return found


def swift_packages(binary):
    linked = {name.lower() for name in linked_packages(binary)}
    pins = json.loads((binary.parents[3] / "Package.resolved").read_text())["pins"]
    for pin in pins:
        address = pin["location"].removesuffix(".git")
        if address.rsplit("/", 1)[-1].lower() in linked:
            version = pin["state"]["version"]
            yield {"type": "library", "name": pin["identity"], "version": version,
                   "purl": f"pkg:swift/{address.removeprefix('https://')}@{version}",
                   "properties": [{"name": "git:commit", "value": pin["state"]["revision"]}]}


def debian_packages(binary):
    """The packages of the libraries that the binary itself names."""
    names = re.findall(r"\(NEEDED\).*\[(.+)\]", said("readelf", "--dynamic", str(binary)))
    folder = said("dpkg-architecture", "--query", "DEB_HOST_MULTIARCH").strip()
    release = re.search(r"VERSION_ID=\"?(\d+)", pathlib.Path("/etc/os-release").read_text())[1]
    owners = {said("dpkg-query", "--search", f"*/{folder}/{name}").split(": ")[0] for name in names
              if not name.startswith("ld-linux")}
    for owner in owners:
        name, version, machine = said("dpkg-query", "--show", "--showformat=${Package} ${Version} ${Architecture}", owner).split()
        yield {"type": "library", "name": name, "version": version,
               "purl": f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}"
                       f"?arch={machine}&distro=debian-{release}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, type=pathlib.Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--commit", required=True)
    options = parser.parse_args()
    binary = options.binary.resolve()
    swift = re.search(r"Swift version (\S+)", said("swift", "--version"))[1]
    parts = [*swift_packages(binary), *debian_packages(binary),
             {"type": "framework", "name": "swift", "version": swift,
              "purl": f"pkg:swift/github.com/swiftlang/swift@{swift}"}]
    for part in parts:
        part["bom-ref"] = part["purl"]
    tapedeck = f"pkg:generic/tapedeck@{options.version}"
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.UTC)
    references = sorted(part["purl"] for part in parts)
    print(json.dumps({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, options.commit)}",
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {"type": "application", "name": "tapedeck", "version": options.version, "bom-ref": tapedeck,
                          "purl": tapedeck, "licenses": [{"license": {"id": "Apache-2.0"}}],
                          "properties": [{"name": "git:commit", "value": options.commit}]},
        },
        "components": sorted(parts, key=lambda part: part["purl"]),
        "dependencies": [{"ref": tapedeck, "dependsOn": references}],
    }, indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
