#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes manual pages and shell completions from what the binary says of its own arguments.

Into OUTPUT/manual: tapedeck.1 and tapedeck-COMMAND.1 for each command. Into OUTPUT/completions: files for bash, zsh and
fish under the names that these shells look for.

Example: systemd/debian/manual.py --binary .build/debug/tapedeck --output .build/manual
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess

COMPLETIONS = {"bash": "tapedeck", "zsh": "_tapedeck", "fish": "tapedeck.fish"}
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, type=pathlib.Path)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    options = parser.parse_args()
    binary = options.binary.resolve()

    def said(*arguments):
        return subprocess.run([binary, *arguments], check=True, capture_output=True, text=True, timeout=60).stdout

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
