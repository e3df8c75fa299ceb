#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's Prosody for one domain on loopback: writes its configuration, a certificate and accounts, then becomes it.

The folder is taken again by the next start, which is then a restart of the same server. Prosody's own log lines go to
standard output.

Example: Tests/Peers/prosody_server.py --folder /tmp/prosody --port 15222 --account recorder:secret --account alice:pw
"""

import argparse
import os
import pathlib
import subprocess

DOMAIN = "example.org"
CONFIGURATION = """\
pidfile = "{folder}/prosody.pid"
data_path = "{folder}/data"
run_as_root = true
log = {{ info = "*console" }}
interfaces = {{ "127.0.0.1" }}
c2s_ports = {{ {port} }}
c2s_direct_tls_ports = {{}}
modules_enabled = {{ "roster", "saslauth", "tls", "disco", "ping" }}
modules_disabled = {{ "s2s" }}
c2s_require_encryption = true
authentication = "internal_plain"
-- SCRAM is the only way in.
disable_sasl_mechanisms = {{ "PLAIN", "DIGEST-MD5" }}
storage = "internal"

VirtualHost "{domain}"
    ssl = {{ key = "{folder}/key.pem", certificate = "{folder}/certificate.pem" }}
"""


def make_certificate(folder):
    """A certificate for the domain that is its own issuer."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "7", "-subj", f"/CN={DOMAIN}", "-addext", f"subjectAltName=DNS:{DOMAIN}",
                    "-keyout", folder / "key.pem", "-out", folder / "certificate.pem"], check=True, capture_output=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    parser.add_argument("--port", required=True, type=int)
    parser.add_argument("--account", action="append", default=[], metavar="NAME:PASSWORD")
    options = parser.parse_args()
    folder = options.folder.resolve()
    accounts = folder / "data" / DOMAIN.replace(".", "%2e") / "accounts"
    accounts.mkdir(parents=True, exist_ok=True)
    if not (folder / "certificate.pem").exists():
        make_certificate(folder)
    for account in options.account:
        name, password = account.split(":", 1)
        (accounts / f"{name}.dat").write_text(f'return {{ ["password"] = "{password}"; }};\n')
    configuration = folder / "prosody.cfg.lua"
    configuration.write_text(CONFIGURATION.format(folder=folder, port=options.port, domain=DOMAIN))
    os.execvp("prosody", ["prosody", "--config", str(configuration), "-F"])


if __name__ == "__main__":
    main()
