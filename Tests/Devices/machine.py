# SPDX-License-Identifier: Apache-2.0
"""An emulated machine with a camera and an audio device: Debian's kernel in qemu, on this host's root file system.

The kernel comes out of Debian's package, which is downloaded and extracted, not installed. The guest sees the host's
root file system read-only, and one folder of the host that it may write to. It runs the commands that are written to
its virtio serial port, one a line. Nothing here needs KVM or root.
"""

import contextlib
import fcntl
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import threading

KERNELS = pathlib.Path(os.environ.get("TAPEDECK_KERNEL", "/var/tmp/tapedeck-kernel"))
# Loaded in this order, each behind what it needs: to boot, and by `load_devices`.
BOOT_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "virtio_net", "virtio_console")
DEVICE_MODULES = ("vivid", "snd-aloop")
# The guest's address, and that of the host as seen from there.
GUEST, GATEWAY = "10.0.2.15", "10.0.2.2"

INIT = """\
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin:/sbin:/usr/sbin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
while read module; do insmod /modules/$module || echo "$module cannot be loaded"; done < /modules/order
ip link set lo up
ip link set eth0 up && ip addr add {guest}/24 dev eth0 && ip route add default via {gateway}
options=trans=virtio,version=9p2000.L,msize=524288
mount -t 9p -o $options,ro,cache=loose root /root || echo "no root file system"
mount -t tmpfs none /root/tmp
mount -t tmpfs none /root/run
mkdir -p "/root{shared}" || mount -t tmpfs none "/root{shared}"
mount -t 9p -o $options,cache=none shared "/root{shared}" || echo "no shared folder"
for folder in proc sys dev; do mount --move /$folder /root/$folder; done
mkdir -p /root/dev/shm /root/dev/pts
mount -t tmpfs none /root/dev/shm
mount -t devpts none /root/dev/pts
cp -r /modules /root/run/modules
cp /bin/busybox /root/run/busybox
cp /agent /root/run/agent
exec switch_root -c /dev/console /root /run/busybox sh /run/agent
"""

# A line in, its output and its exit code out.
AGENT = """\
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LANG=C.UTF-8
cd /tmp
exec 0<>/dev/vport0p1 1>&0
echo ready
while read -r line; do
    sh -c "$line" </dev/null 2>&1
    echo "exit code $?"
done
"""


class Missing(Exception):
    """A part that an emulated machine needs is missing."""


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, **options).stdout


def kernel():
    """The folder of Debian's newest kernel, extracted; downloaded with apt-get if it is not there."""
    for program in ("qemu-system-x86_64", "busybox", "cpio", "apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise Missing(f"{program} is not installed: run `.ci/install-packages devices`")
    KERNELS.mkdir(parents=True, exist_ok=True)
    with (KERNELS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (KERNELS / "complete").exists():
            # Alone it has nothing in it but the name of the newest.
            text = run("apt-cache", "depends", "linux-image-amd64").decode()
            names = re.findall(r"Depends: (linux-image-\S+)", text)
            if not names:
                raise Missing("apt knows no package linux-image-amd64: run `apt-get update`")
            run("apt-get", "-q", "download", names[0], cwd=KERNELS)
            package, = KERNELS.glob(f"{names[0]}_*.deb")
            run("dpkg-deb", "-x", package, KERNELS)
            package.unlink()
            (KERNELS / "complete").touch()
    return KERNELS


def with_needed(names, modules):
    """Paths of modules with all that they need, in the order in which they must be loaded."""
    by_name = {path.stem.replace("-", "_"): path for path in modules.rglob("*.ko")}
    ordered = []

    def add(name):
        path = by_name.get(name.replace("-", "_"))
        # A module without a file is a part of the kernel.
        if path is None or path in ordered:
            return
        found = re.search(rb"\0depends=([^\0]*)\0", path.read_bytes())
        for needed in found[1].decode().split(",") if found else ():
            add(needed)
        ordered.append(path)

    for name in names:
        add(name)
    return ordered


def make_initramfs(folder, shared):
    """A file system in memory with busybox and the modules; the path of its archive."""
    modules = next((kernel() / "lib" / "modules").iterdir())
    tree = folder / "initramfs"
    for name in ("bin", "proc", "sys", "dev", "root", "modules"):
        (tree / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), tree / "bin" / "busybox")
    for names, order in ((BOOT_MODULES, "order"), (DEVICE_MODULES, "devices")):
        paths = with_needed(names, modules)
        for path in paths:
            shutil.copy(path, tree / "modules" / path.name)
        (tree / "modules" / order).write_text("".join(f"{path.name}\n" for path in paths))
    (tree / "init").write_text(INIT.format(guest=GUEST, gateway=GATEWAY, shared=shared))
    (tree / "init").chmod(0o755)
    (tree / "agent").write_text(AGENT)
    names = sorted(str(path.relative_to(tree)) for path in tree.rglob("*"))
    archive = folder / "initramfs.cpio"
    archive.write_bytes(run("cpio", "--create", "--format=newc", "--quiet", cwd=tree,
                            input="\n".join(names).encode()))
    return archive


class Machine:
    """A running machine; `shared` is the folder that it sees at the same path and may write to."""

    def __init__(self, folder, processors=1, memory="2G"):
        self.folder = pathlib.Path(folder)
        self.shared = self.folder / "shared"
        self.shared.mkdir()
        self.console = self.folder / "console"
        self.port, far = socket.socketpair()
        self.lock = threading.Lock()
        self.pending = b""
        command = [
            "qemu-system-x86_64", "-machine", "q35,accel=tcg,i8042=off", "-cpu", "max", "-smp", processors,
            "-m", memory, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-kernel", next((kernel() / "boot").glob("vmlinuz-*")), "-initrd", make_initramfs(self.folder, self.shared),
            "-append", "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable random.trust_cpu=on no_timer_check",
            "-serial", f"file:{self.console}",
            "-chardev", f"socket,id=agent,fd={far.fileno()}", "-device", "virtio-serial-pci", "-device",
            "virtserialport,chardev=agent,nr=1",
            "-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap",
            "-virtfs", f"local,path={self.shared},mount_tag=shared,security_model=none",
            "-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile=",
        ]
        with (self.folder / "qemu.err").open("wb") as errors:
            self.process = subprocess.Popen([str(part) for part in command], pass_fds=[far.fileno()], stderr=errors,
                                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        far.close()

    def story(self):
        errors = (self.folder / "qemu.err").read_text(errors="replace")
        console = self.console.read_text(errors="replace") if self.console.exists() else ""
        return f"--- qemu, exit code {self.process.poll()}\n{errors}\n{console[-4000:]}"

    def line(self, patience):
        """The next line; waits for so many seconds in which this host ran: it may be suspended, and the guest with it."""
        while b"\n" not in self.pending:
            assert patience > 0, f"the machine did not answer in time\n{self.story()}"
            patience -= 1
            self.port.settimeout(1)
            with contextlib.suppress(TimeoutError):
                more = self.port.recv(65536)
                assert more, f"the machine has ended\n{self.story()}"
                self.pending += more
        line, self.pending = self.pending.split(b"\n", 1)
        return line.decode(errors="replace").rstrip("\r")

    def wait_until_up(self, timeout=120):
        while self.line(timeout) != "ready":
            pass

    def run(self, command, timeout=60, check=True):
        """Runs a command line in the guest; its output."""
        with self.lock:
            self.port.sendall(command.encode() + b"\n")
            lines = []
            while not (found := re.fullmatch(r"exit code (\d+)", line := self.line(timeout))):
                lines.append(line)
        output = "\n".join(lines)
        assert not check or found[1] == "0", f"`{command}` ended with {found[1]}\n{output}\n{self.story()}"
        return output

    def load_devices(self):
        """Loads vivid, with one camera at /dev/video0, and snd-aloop, with the card 0."""
        options = "n_devs=1 node_types=0x1 num_inputs=1 input_types=0"
        self.run(f"while read m; do [ $m = vivid.ko ] && o='{options}' || o=; /run/busybox insmod /run/modules/$m $o "
                 "|| exit 1; done </run/modules/devices")
        self.run("[ -c /dev/video0 ] && [ -c /dev/snd/pcmC0D1c ]")

    def unplug(self):
        """Takes the camera away, as if its cable were pulled."""
        self.run("echo vivid.0 >/sys/bus/platform/drivers/vivid/unbind")

    def plug_in(self):
        self.run("echo vivid.0 >/sys/bus/platform/drivers/vivid/bind")

    @property
    def camera(self):
        """The path of the one camera: it has another number after it was unplugged while a process had it open."""
        path, = self.run("echo /dev/video*").split()
        return path

    def control(self, name, value):
        """Sets a control of the camera by its name."""
        script = pathlib.Path(__file__).with_name("set_control.py")
        self.run(f"/usr/bin/python3 -S -E {script} {self.camera} {shlex.quote(name)} {value}", 60)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)
        self.port.close()
