# SPDX-License-Identifier: Apache-2.0
"""Hosts and a router between them, as network namespaces of this machine; needs root."""

import contextlib
import ctypes
import json
import os
import subprocess

PREFIX = "10.77"
PREFIX_6 = "fd77"
CLOSED_ROUTER = """
table inet tapedeck {
    counter direct { }
    chain forward { type filter hook forward priority 0; policy drop; counter name direct; }
    chain cut { }
    chain translate { }
    chain leave { type nat hook postrouting priority 100; policy accept; jump translate; }
    chain input { type filter hook input priority 0; policy accept; jump cut; }
}
"""


class Network:
    """Hosts `a`, `b` and so on, each on a separate link to the router `r`, which forwards nothing between them.

    The router has the address .1 (::1) on each link, the hosts .2 (::2).
    """

    def __init__(self, name, hosts="ab"):
        self.names = {role: f"{name}-{role}" for role in hosts + "r"}
        self.interfaces = {role: f"to-{role}" for role in hosts}

    def make(self):
        for role in self.names:
            run("ip", "netns", "add", self.names[role])
            self.run(role, "ip", "link", "set", "lo", "up")
        for role in self.interfaces:
            number = number_of(role)
            run("ip", "link", "add", "eth0", "netns", self.names[role], "type", "veth", "peer", "name",
                self.interfaces[role], "netns", self.names["r"])
            for where, interface, last in ((role, "eth0", 2), ("r", self.interfaces[role], 1)):
                self.run(where, "ip", "address", "add", f"{PREFIX}.{number}.{last}/24", "dev", interface)
                self.run(where, "ip", "address", "add", f"{PREFIX_6}:{number}::{last}/64", "dev", interface, "nodad")
                self.run(where, "ip", "link", "set", interface, "up")
            self.run(role, "ip", "route", "add", "default", "via", f"{PREFIX}.{number}.1")
            self.run(role, "ip", "-6", "route", "add", "default", "via", f"{PREFIX_6}:{number}::1")
        self.run("r", "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        self.run("r", "nft", "-f", "-", text=CLOSED_ROUTER)

    def remove(self):
        for name in self.names.values():
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)

    def inside(self, role, *command):
        """The command that runs a command in a namespace."""
        return ("nsenter", f"--net=/run/netns/{self.names[role]}", *command)

    def run(self, role, *command, text=None):
        return run(*self.inside(role, *command), text=text)

    @contextlib.contextmanager
    def entered(self, role):
        """Has this thread in a namespace: sockets that it makes are there."""
        with open("/proc/thread-self/ns/net") as before, open(f"/run/netns/{self.names[role]}") as there:
            enter(there)
            try:
                yield
            finally:
                enter(before)

    def processes(self, role):
        """The ids of the processes in a namespace."""
        return [int(line) for line in run("ip", "netns", "pids", self.names[role]).split()]

    def connect(self, role, is_up):
        """Takes the link of a host to the router away, or gives it back; IPv6 addresses go with it."""
        interface = self.interfaces[role]
        self.run("r", "ip", "link", "set", interface, "up" if is_up else "down")
        if is_up:
            self.run("r", "ip", "address", "replace", f"{self.router(role, 6)}/64", "dev", interface, "nodad")

    def rule(self, chain, rule):
        """Adds a rule of nftables to the router."""
        self.run("r", "nft", "add", "rule", "inet", "tapedeck", chain, *rule.split())

    def without_rules(self, chain):
        self.run("r", "nft", "flush", "chain", "inet", "tapedeck", chain)

    def direct_packets(self):
        """How many packets of one host to the other the router has seen."""
        return self.packets("direct")

    def packets(self, counter):
        """How many packets a counter of the router's rules has seen."""
        found = self.run("r", "nft", "-j", "list", "counter", "inet", "tapedeck", counter)
        return next(entry["counter"]["packets"] for entry in json.loads(found)["nftables"] if "counter" in entry)

    @staticmethod
    def host(role):
        """The address of a host."""
        return f"{PREFIX}.{number_of(role)}.2"

    @staticmethod
    def router(role, version=4):
        """The router's address as a host sees it."""
        number = number_of(role)
        return f"{PREFIX}.{number}.1" if version == 4 else f"{PREFIX_6}:{number}::1"


def number_of(role):
    """The number of a host's link."""
    return ord(role) - ord("a") + 1


def enter(namespace):
    if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def run(*command, text=None):
    result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=90, check=False)
    assert result.returncode == 0, f"{' '.join(command)}: {result.stderr}"
    return result.stdout


@contextlib.contextmanager
def namespaces(hosts="ab"):
    """A network, or why there is none."""
    network = Network(f"tapedeck-{os.getpid()}-{hosts}", hosts)
    try:
        try:
            network.make()
        except (AssertionError, FileNotFoundError) as error:
            yield None, str(error)
            return
        yield network, None
    finally:
        network.remove()
