#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Commands in Documentation/: docs.py check | docs.py board PAGE; docs.py rst: well-formed text.

In the pages of PAGES each literal block is followed by a comment that says who runs it:
  .. run: emulated board     all of it, on the emulated board ("docs.py board PAGE" prints it)
  .. run: FILE               FILE has each of its commands: a test or check of this tree
  .. run: board only         it needs a real board, a reboot, or another program
check prints one "file:line: finding" a line; the exit status is 1 when there is any.
"""
import os
import re
import sys

PAGES = ["bsp", "containers", "device-tree", "dma-buf", "install", "monitoring", "multicore",
         "porting-soc", "troubleshooting"]
FOLDER = "Documentation"


def blocks(path: str):
    """(line number, lines, who) of each literal block; who is '' when no comment follows."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    index = 0
    while index < len(lines):
        if not lines[index].endswith("::") or lines[index].startswith(".. "):
            index += 1
            continue
        start = index = index + 1
        body = []
        while index < len(lines) and (not lines[index] or lines[index].startswith("    ")):
            if lines[index]:
                body.append(lines[index][4:])
            index += 1
        match = re.match(r"\.\. run: (.*)", lines[index]) if index < len(lines) else None
        yield start, body, match.group(1) if match else ""


def words(command: str) -> str:
    """What has to be found: the program and its first argument that is no path."""
    parts = [p for p in command.split() if p != "sudo"]
    second = parts[1] if len(parts) > 1 else ""
    if re.search(r"[/=*.<>$]|^[A-Z]+$", second) or parts[0].endswith("run-vm.sh"):
        second = ""
    return (os.path.basename(parts[0]) + " " + second).strip()


def by_make(command: str, who: str, text: str) -> bool:
    """Whether "make TARGET" is a target whose script is WHO or is started there."""
    with open("Makefile", encoding="utf-8") as file:
        recipe = re.search(rf"^{words(command)[5:]}:.*\n((?:\t.*\n)+)", file.read(), re.M)
    script = re.search(r"scripts/[\w-]+\.sh(?: \w+)?", recipe.group(1)) if recipe else None
    if not script:
        return False
    name = script.group(0)
    return name.split()[0] == who or os.path.basename(name.split()[0]) in text


def check() -> list[str]:
    findings = []
    for page in PAGES:
        path = f"{FOLDER}/{page}.rst"
        for number, body, who in blocks(path):
            if not who:
                findings.append(f"{path}:{number}: nothing says who runs this block")
            elif who not in ("emulated board", "board only"):
                if not os.path.isfile(who):
                    findings.append(f"{path}:{number}: there is no {who}")
                    continue
                with open(who, encoding="utf-8") as file:
                    text = re.sub(r"[\"']|\$RKNPU_ROOT/scripts/|\$scripts/|scripts/", "", file.read())
                for command in body:
                    if words(command) in text:
                        continue
                    if not command.startswith("make ") or not by_make(command, who, text):
                        findings.append(f"{path}:{number}: {who} does not run '{words(command)}'")
    return findings


def rst() -> None:
    """Ends with a message of docutils at the first page that is not well-formed."""
    import docutils.core
    from docutils import nodes
    from docutils.parsers.rst import roles
    roles.register_generic_role("doc", nodes.emphasis)
    for name in sorted(os.listdir(FOLDER)):
        with open(f"{FOLDER}/{name}", encoding="utf-8") as file:
            docutils.core.publish_string(file.read(), source_path=f"{FOLDER}/{name}", writer_name="null",
                                         settings_overrides={"report_level": 2, "halt_level": 2})


if __name__ == "__main__":
    if sys.argv[1] == "rst":
        sys.exit(rst())
    if sys.argv[1] == "board":
        print("set -e")
        for _, body, who in blocks(f"{FOLDER}/{sys.argv[2]}.rst"):
            if who == "emulated board":
                print("\n".join(body))
        sys.exit(0)
    found = check()
    print("\n".join(found))
    sys.exit(1 if found else 0)
