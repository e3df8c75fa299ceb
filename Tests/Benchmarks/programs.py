# SPDX-License-Identifier: Apache-2.0
"""Programs that give and take descriptions on their standard input and output, each ended by a line with a dot."""

import contextlib
import pathlib
import socket
import subprocess

PACKAGES = ["gstreamer-webrtc-1.0", "gstreamer-sdp-1.0", "gstreamer-app-1.0", "gstreamer-1.0"]


def build(name, folder, packages=PACKAGES):
    """Compiles NAME.c, which is next to this file, into a folder; the program."""
    source, program = pathlib.Path(__file__).with_name(f"{name}.c"), pathlib.Path(folder) / name
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", *packages], check=True, capture_output=True,
                           text=True).stdout.split()
    subprocess.run(["cc", "-O2", "-Wall", source, "-o", program, *flags], check=True)
    return program


def free_ports(count):
    """This many, each another: all are held until the last one is found."""
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in listeners]


def free_port():
    port, = free_ports(1)
    return port


class Talker:
    """A process that answers commands."""

    def __init__(self, command, folder):
        self.name = str(command[0]).rsplit("/", 1)[-1]
        self.errors = (folder / f"{self.name}.err").open("ab")
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True, cwd=folder)

    def say(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def lines(self):
        """The lines up to the next one with a dot."""
        found = []
        while (line := self.process.stdout.readline()) not in (".\n", ""):
            found.append(line.rstrip("\r\n"))
        if line == "":
            raise RuntimeError(f"{self.name} ended; see {self.errors.name}")
        return found

    def tell_description(self, description):
        self.say(description.replace("\r\n", "\n") + ".\n")

    def description(self):
        return "\r\n".join(self.lines()) + "\r\n"

    def answer(self, offer):
        self.tell_description(offer)
        return self.description()

    def end(self, timeout=60):
        """Ends its standard input; what it says at last."""
        self.process.stdin.close()
        last = self.process.stdout.read()
        self.process.wait(timeout)
        self.errors.close()
        return last
