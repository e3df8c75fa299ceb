#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes manual pages and shell completions from what the binary says of its own arguments.

Into OUTPUT/manual: tapedeck.1 and tapedeck-COMMAND.1 for each command. Into OUTPUT/completions: files for bash, zsh and
fish under the names that these shells look for. With --commands, docs/commands.md instead.

Example: systemd/debian/manual.py --binary .build/debug/tapedeck --output .build/manual
Example: systemd/debian/manual.py --binary .build/debug/tapedeck --commands docs/commands.md
"""

import argparse
import collections
import datetime
import json
import os
import pathlib
import subprocess

COMPLETIONS = {"bash": "tapedeck", "zsh": "_tapedeck", "fish": "tapedeck.fish"}
EXIT_CODES = [
    (0, "done"),
    (1, "`tapedeck run`: a temporary failure, such as a port that is in use, a full disk, or a disk for the recordings that is not mounted"),
    (2, "usage, settings, permissions, or something missing on this host"),
    (3, "could not join: unreachable, full, refused or timed out; the message says which. Commands that talk to the daemon: it does "
        "not answer"),
    (4, "joined, but no media came"),
    (5, "recorded, but damaged or incomplete, or the export failed; the message says what is missing. An export of a recording that was "
        "only cut off ends with 0 and lists what is missing"),
    (6, "`tapedeck probe`: the score is below the threshold; the message names the weakest part"),
    (130, "interrupted before anything was recorded or measured"),
]
# Options of at least so many commands are described once.
COMMON = 25
FILES = [
    ("/etc/tapedeck/tapedeck.yaml", "The configuration of the daemon."),
    ("/var/lib/tapedeck", "Where the daemon keeps recordings unless its configuration says another place."),
]


def escape(text):
    """Text that roff prints as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return "\n".join("\\&" + line if line.startswith(".") else line for line in text.splitlines())


def spelling(name):
    return ("--" if name["kind"] == "long" else "-") + name["name"]


def shown(arguments):
    return [argument for argument in arguments or [] if argument.get("shouldDisplay")]


def synopsis(name, command):
    words = []
    for argument in shown(command.get("arguments")):
        repeats = "..." if argument.get("isRepeating") else ""
        if argument["kind"] == "positional":
            word = f"\\fI{escape(argument['valueName'])}\\fR{repeats}"
        else:
            word = f"\\fB{escape(spelling(argument['preferredName']))}\\fR"
            if argument["kind"] == "option":
                word += f" \\fI{escape(argument['valueName'])}\\fR"
            word += repeats
        words.append(f"[{word}]" if argument["isOptional"] or argument["kind"] == "flag" else word)
    if command.get("subcommands"):
        words.append("\\fIcommand\\fR")
    return [".SH SYNOPSIS", f"\\fB{escape(name)}\\fR " + " ".join(words)]


def description(command):
    """The abstract, then the discussion; lines that begin with Example go under a heading of their own."""
    lines, examples = [".SH DESCRIPTION", escape(command.get("abstract", ""))], []
    for paragraph in command.get("discussion", "").split("\n\n"):
        if paragraph.strip().startswith("Example"):
            examples += [line.strip().removeprefix("Example:").strip() for line in paragraph.strip().splitlines()]
        elif paragraph.strip():
            lines += [".PP", escape(" ".join(paragraph.split()))]
    return lines, examples


def options(arguments):
    lines = []
    for argument in shown(arguments):
        if argument["kind"] == "positional":
            title = f"\\fI{escape(argument['valueName'])}\\fR"
        else:
            title = ", ".join(f"\\fB{escape(spelling(name))}\\fR" for name in argument["names"])
            if argument["kind"] == "option":
                title += f" \\fI{escape(argument['valueName'])}\\fR"
        lines += [".TP", title, escape(argument.get("abstract") or "")]
        if argument.get("discussion"):
            lines.append(escape(" ".join(argument["discussion"].split())))
        if argument.get("defaultValue") is not None:
            lines.append(f"Default: {escape(argument['defaultValue'])}.")
    return [".SH OPTIONS", *lines] if lines else []


def page(name, command, version, date, see_also):
    lines, examples = description(command)
    result = [
        f'.TH {name.replace(" ", "-").upper()} 1 "{date}" "{escape(version)}" "Tapedeck"',
        ".SH NAME", f"{escape(name.replace(' ', '-'))} \\- {escape(command.get('abstract', '').rstrip('.'))}",
        *synopsis(name, command), *lines,
    ]
    commands = command["subcommands"]
    if commands:
        result.append(".SH COMMANDS")
        for sub in commands:
            result += [".TP", f"\\fB{escape(sub['commandName'])}\\fR", escape(sub.get("abstract", ""))]
    result += options(command.get("arguments"))
    if examples:
        result.append(".SH EXAMPLES")
        result.append("\n.PP\n".join(f".nf\n{escape(example)}\n.fi" for example in examples))
    if " " not in name:
        result.append(".SH EXIT STATUS")
        for code, text in EXIT_CODES:
            result += [".TP", str(code), escape(text.replace("`", ""))]
        result.append(".SH FILES")
        for path, purpose in FILES:
            result += [".TP", f"\\fI{escape(path)}\\fR", escape(purpose)]
    result += [".SH SEE ALSO", ", ".join(f"\\fB{escape(other)}\\fR(1)" for other in see_also)]
    return "\n".join(line for line in result if line) + "\n"


def pages(command, version, date, parents=()):
    """File name and text of the manual page of a command and of each command below it."""
    path = [*parents, command["commandName"]]
    below = [sub for sub in command.get("subcommands") or []
             if sub.get("shouldDisplay", True) and sub["commandName"] != "help"]
    see_also = ["-".join(parents)] if parents else []
    see_also += ["-".join([*path, sub["commandName"]]) for sub in below]
    yield "-".join(path) + ".1", page(" ".join(path), {**command, "subcommands": below}, version, date, see_also)
    for sub in below:
        yield from pages(sub, version, date, path)


def markdown_options(arguments):
    """A table of arguments, whose words come from the help."""
    rows = []
    for argument in arguments:
        if argument["kind"] == "positional":
            title = argument["valueName"].upper()
        else:
            title = ", ".join(map(spelling, argument["names"]))
            if argument["kind"] == "option":
                title += f" {argument['valueName'].upper()}"
        words = [argument.get("abstract") or "", " ".join((argument.get("discussion") or "").split())]
        if argument.get("defaultValue") is not None:
            words.append(f"Default: {argument['defaultValue']}.")
        text = " ".join(word for word in words if word).replace("|", "\\|").replace("<", "&lt;")
        rows.append(f"| `{title}` | {text} |")
    return ["", "| option | |", "|---|---|", *rows] if rows else []


def all_commands(command, parents=()):
    """The path of each command that is shown, and the command."""
    path = [*parents, command["commandName"]]
    yield path, command
    for sub in command.get("subcommands") or []:
        if sub.get("shouldDisplay", True) and sub["commandName"] != "help":
            yield from all_commands(sub, path)


def commands(root):
    """docs/commands.md."""
    found = list(all_commands(root))
    counts = collections.Counter(json.dumps(argument) for _, command in found for argument in shown(command.get("arguments")))
    common = {text for text, count in counts.items() if count >= COMMON}
    lines = ["# Commands", "", "Made by `systemd/debian/manual.py` from the help of each command.", "",
             "Results go to standard output, progress and logs to standard error."]
    for path, command in found:
        discussion = command.get("discussion", "").split("\n\n")
        examples = [line.strip().removeprefix("Example:").strip() for part in discussion for line in part.splitlines()
                    if line.strip().startswith("Example")]
        lines += ["", f"## {' '.join(path)}", "", command.get("abstract", "")]
        for part in discussion:
            if part.strip() and not part.strip().startswith("Example"):
                lines += ["", " ".join(part.split())]
        if examples:
            lines += ["", *(f"    {example}" for example in examples)]
        lines += markdown_options([argument for argument in shown(command.get("arguments"))
                                   if json.dumps(argument) not in common])
        if len(path) == 1:
            lines += ["", "Options of every command:"]
            lines += markdown_options([json.loads(text) for text in sorted(common)])
            lines += ["", "| exit code | means |", "|---|---|", *(f"| {code} | {text} |" for code, text in EXIT_CODES)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--commands", type=pathlib.Path, help="write docs/commands.md to this file")
    options = parser.parse_args()
    if (options.output is None) == (options.commands is None):
        parser.error("give --output or --commands")
    binary = options.binary.resolve()

    def said(*arguments):
        return subprocess.run([binary, *arguments], check=True, capture_output=True, text=True, timeout=60).stdout

    if options.commands:
        options.commands.write_text(commands(json.loads(said("--experimental-dump-help"))["command"]))
        return
    manual, completions = options.output / "manual", options.output / "completions"
    for folder in (manual, completions):
        folder.mkdir(parents=True, exist_ok=True)
    date = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", binary.stat().st_mtime)), datetime.UTC)
    tool = json.loads(said("--experimental-dump-help"))
    for name, text in pages(tool["command"], said("--version").strip(), date.strftime("%Y-%m-%d")):
        (manual / name).write_text(text)
    for shell, name in COMPLETIONS.items():
        text = said("--generate-completion-script", shell)
        # A file that is sourced has no interpreter line.
        (completions / name).write_text(text.removeprefix("#!/bin/bash\n"))


if __name__ == "__main__":
    main()
