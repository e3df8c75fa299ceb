# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzz targets: everything that parses data from the network, or from a recording, with libFuzzer.

Builds the package of this folder in a separate folder, and the C module's work on each packet with the sanitizers of
addresses and of undefined behaviour (`Media/media.c`), then runs each target on its seeds (`Corpus/TARGET`), on the
inputs that once were findings (`Crashers/TARGET`), and on the inputs that libFuzzer makes of them. A trap, an input
that takes longer than 20 s, more than 1 GiB of memory and a broken promise of a target are findings: the input is kept
in `.build/fuzz/findings`, and the exit code is 1. The inputs that libFuzzer learns stay in `.build/fuzz/corpus`.

Example: python3 Tests/Fuzz/run.py --seconds 60 sdp room-skyrtc

"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
BUILD = TOP / ".build" / "fuzz"
PACKAGE = BUILD / "package"
PROGRAM = BUILD / "release" / "Fuzz"
MEDIA = BUILD / "media"
# The fed sources of the C module.
MEDIA_SOURCES = ("congestion", "depayloader", "h264_passage", "reorder_window", "rtcp", "rtcp_filter", "rtp_clock",
                 "srtp_receiver")
MEDIA_LIBRARIES = ("gstreamer-1.0", "gstreamer-rtp-1.0", "libcrypto", "libsrtp2")
# Seeds that are kept where the unit tests have them.
FIXTURES = {"sdp": [TOP / "Tests" / "SDPTests" / "Fixtures"]}
# Longest time for one input, and most memory.
INPUT_SECONDS = 20
MEMORY_MB = 1024


def assemble():
    """Makes the package again: this folder's files, and links to the targets of the main package that they feed.

    The links are made here, because a checkout or an archive may turn those of a repository into text files.

    """
    shutil.rmtree(PACKAGE, ignore_errors=True)
    program = PACKAGE / "Sources" / "Fuzz"
    program.mkdir(parents=True)
    (PACKAGE / "Package.swift").symlink_to(HERE / "Package.swift")
    for file in [*(HERE / "Fuzz").iterdir(), TOP / "Tests" / "SignallingTests" / "CallBench.swift"]:
        (program / file.name).symlink_to(file)
    for target in re.findall(r'\.target\(\s*name: "(\w+)"', (HERE / "Package.swift").read_text()):
        # A folder of this package stands in the place of the main package's.
        own = HERE / target
        (program.parent / target).symlink_to(own if own.is_dir() else TOP / "Sources" / target)


def build():
    assemble()
    subprocess.run(
        ["swift", "build", "--package-path", PACKAGE, "--scratch-path", BUILD, "--configuration", "release",
         "--sanitize", "fuzzer", "--product", "Fuzz"],
        check=True,
    )


def build_media():
    module = TOP / "Sources" / "CTapedeck"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", *MEDIA_LIBRARIES], check=True, stdout=subprocess.PIPE,
                           text=True).stdout.split()
    subprocess.run(
        # GStreamer's macros read numbers from any address, as packets have them.
        ["clang", "-std=gnu11", "-g", "-O1", "-fuse-ld=lld", "-fsanitize=fuzzer,address,undefined",
         "-fno-sanitize-recover=undefined", "-fno-sanitize=alignment", f"-I{module}", f"-I{module / 'include'}",
         HERE / "Media" / "media.c", *(path for path in module.rglob("*.c") if path.stem in MEDIA_SOURCES), *flags,
         "-o", MEDIA],
        check=True,
    )


def environment(target):
    # Swift's own crash handler would come before libFuzzer's, which keeps the input. GLib's caches would hide the use
    # of freed memory.
    return os.environ | {"FUZZ_TARGET": target, "SWIFT_BACKTRACE": "enable=no", "G_SLICE": "always-malloc"}


def targets():
    """The program of each target."""
    found = {}
    for program in (PROGRAM, MEDIA):
        listing = subprocess.run([program], env=environment("list"), stdout=subprocess.PIPE, text=True)
        if listing.returncode:
            sys.exit("fuzz: the table of targets is not complete")
        found |= dict.fromkeys(listing.stdout.split(), program)
    return found


def run(target, program, seconds, seed):
    """Runs one target; returns whether it is clean, and one line about it."""
    learnt = BUILD / "corpus" / target
    findings = BUILD / "findings"
    for folder in (learnt, findings):
        folder.mkdir(parents=True, exist_ok=True)
    seeds = [HERE / "Corpus" / target, HERE / "Crashers" / target] + FIXTURES.get(target, [])
    dictionary = HERE / "Dictionaries" / ("sdp" if target == "sdp" else "messages")
    command = [
        program, f"-max_total_time={seconds}", f"-timeout={INPUT_SECONDS}", f"-rss_limit_mb={MEMORY_MB}",
        f"-artifact_prefix={findings}/{target}-", f"-dict={dictionary}", f"-seed={seed}", "-print_final_stats=1",
        learnt, *(folder for folder in seeds if folder.is_dir()),
    ]
    log = BUILD / f"{target}.log"
    # A target that needs files has them in memory where there is room for that.
    memory = pathlib.Path("/dev/shm")
    with log.open("w") as output, tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        try:
            code = subprocess.run(
                command, env=environment(target) | {"TMPDIR": folder}, stdout=output, stderr=subprocess.STDOUT,
                timeout=seconds * 2 + 120,
            ).returncode
        except subprocess.TimeoutExpired:
            code = "it does not end"
    text = log.read_text(errors="replace")

    def figure(name):
        found = re.findall(rf"stat::{name}:\s*(\d+)", text)
        return int(found[-1]) if found else 0

    line = (f"{target:20} {figure('number_of_executed_units'):>10} inputs {figure('average_exec_per_sec'):>7}/s "
            f"{figure('peak_rss_mb'):>5} MB, slowest {figure('slowest_unit_time_sec')} s")
    if code == 0:
        return True, f"{line}  clean"
    fault = re.findall(r"Fatal error: .*|ERROR: (?:libFuzzer|AddressSanitizer|LeakSanitizer): .*|.*: runtime error: .*", text)
    inputs = re.findall(r"Test unit written to (.*)", text)
    return False, "\n    ".join([f"{line}  FINDING (exit code {code}), see {log}", *fault[:1], *inputs])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=120, help="time of each target (%(default)s)")
    parser.add_argument("--total", type=int, help="bound of all targets together in seconds, as far as they shorten it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="targets at a time (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of libFuzzer's random numbers; 0 is another one each time")
    parser.add_argument("target", nargs="*", help="run these only")
    options = parser.parse_args()
    build()
    build_media()
    known = targets()
    unknown = set(options.target) - set(known)
    if unknown:
        sys.exit(f"fuzz: no target {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    chosen = options.target or list(known)
    seconds = options.seconds
    if options.total:
        seconds = max(1, min(seconds, options.total * options.jobs // len(chosen)))
    print(f"fuzz: {len(chosen)} targets, {seconds} s each, {options.jobs} at a time", flush=True)
    start = time.monotonic()
    dirty = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = {pool.submit(run, target, known[target], seconds, options.seed): target for target in chosen}
        for done in concurrent.futures.as_completed(runs):
            is_clean, line = done.result()
            print(line, flush=True)
            if not is_clean:
                dirty.append(runs[done])
    print(f"fuzz: {len(chosen) - len(dirty)} of {len(chosen)} targets clean in {time.monotonic() - start:.0f} s")
    sys.exit(1 if dirty else 0)


if __name__ == "__main__":
    main()
