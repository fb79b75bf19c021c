#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks of the tree that need no compiler: style.py spdx|words|includes|lengths|kernel|reports.

Prints one "file:line: finding" a line; the exit status is 1 when there is any.
"""
import os
import re
import subprocess
import sys
import tomllib

BINARY = (".png", ".rknn", ".npy", ".bin", ".pgm", ".jpg", ".gz", ".onnx")
CODE = (".c", ".h", ".cpp", ".hpp")
MAX_FUNCTION = 80
MAX_FILE = 650


def tracked() -> list[str]:
    out = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout
    return [f for f in out.splitlines() if os.path.isfile(f)]


def lines_of(path: str) -> list[str]:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().splitlines()


# --- licences ------------------------------------------------------------------------------------

# The first rule whose prefix matches a file says which tags it may carry.
LICENCES = [
    ("kernel/rknpu_regs.h", {"GPL-2.0-only OR MIT"}),
    ("kernel/rknpu_sched", {"GPL-2.0-only", "GPL-2.0-only OR MIT"}),
    ("kernel/uapi/", {"GPL-2.0-only WITH Linux-syscall-note OR MIT"}),
    ("kernel/", {"GPL-2.0-only", "MIT"}),
    ("uapi/", {"GPL-2.0-only WITH Linux-syscall-note OR MIT",
               "(GPL-2.0-only WITH Linux-syscall-note) OR MIT"}),
    ("dts/", {"GPL-2.0-only", "GPL-2.0-only OR MIT", "(GPL-2.0-only OR BSD-2-Clause)", "MIT"}),
    ("selftests/", {"GPL-2.0-only", "MIT", "GPL-2.0-only OR MIT"}),
    ("", {"MIT"}),
]


def annotated() -> dict[str, str]:
    """Licences of files that have no place for a line of their own: patterns of REUSE.toml."""
    with open("REUSE.toml", "rb") as file:
        annotations = tomllib.load(file)["annotations"]
    return {path: each["SPDX-License-Identifier"] for each in annotations for path in each["path"]}


def matches(path: str, pattern: str) -> bool:
    """"**" stands for any text, "*" for text without "/"."""
    parts = (".*" if p == "**" else "[^/]*" if p == "*" else re.escape(p)
             for p in re.split(r"(\*\*|\*)", pattern))
    return re.fullmatch("".join(parts), path) is not None


def check_spdx() -> list[str]:
    findings = []
    patterns = annotated()
    for path in tracked():
        if path.startswith("LICENSES/"):
            continue
        pattern = next((p for p in patterns if matches(path, p)), None)
        if pattern is not None:
            allowed = next(tags for prefix, tags in LICENCES if path.startswith(prefix))
            if patterns[pattern] not in allowed:
                findings.append(f"REUSE.toml:1: licence '{patterns[pattern]}' of {path}")
            continue
        head = "\n".join(lines_of(path)[:2])
        # A licence tag may stand in the second line behind "#!" or the mark of a format only.
        first, _, second = head.partition("\n")
        line = second if first.startswith(("#!", "%YAML", "<?xml", "Format: ")) else first
        match = re.search(r"SPDX-License-Identifier: (.*?)(\s*(\*/|-->))?$", line)
        if not match:
            findings.append(f"{path}:1: no SPDX line")
            continue
        allowed = next(tags for prefix, tags in LICENCES if path.startswith(prefix))
        if match.group(1).strip() not in allowed:
            findings.append(f"{path}:1: licence '{match.group(1)}', wanted one of {sorted(allowed)}")
    return findings


# --- words that must not be committed ------------------------------------------------------------

# Written in pieces so that this file does not find itself.
WORDS = [
    ("machine path", re.compile(r"(?<![\w.$}/])/(?:work|root|farm)/\w")),
    ("mirror host", re.compile(r"(?:deb|ftp|security|snapshot)\.debian\." + r"(?:org|net)|/debian/" + r"dists")),
    ("leftover mark", re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|not imple" + r"mented", re.I)),
]


def check_words() -> list[str]:
    findings = []
    for path in tracked():
        if path.startswith("LICENSES/") or path.endswith(BINARY):
            continue
        for number, line in enumerate(lines_of(path), 1):
            for name, pattern in WORDS:
                if pattern.search(line):
                    findings.append(f"{path}:{number}: {name}: {line.strip()[:80]}")
    return findings


# --- include rules -------------------------------------------------------------------------------

# part -> parts it may include besides itself. A part is the longest prefix that matches a file.
USERSPACE = "userspace/"
PARTS = {
    "uapi/": set(),
    "kernel/": {"uapi/"},
    "kernel/compat/": set(),
    "kernel/tests/": {"kernel/", "uapi/"},
    "selftests/": {"uapi/"},
    "userspace/regs/": set(),
    "userspace/regcmd/": {"userspace/regs/"},
    "userspace/npusim/": {"userspace/regs/"},
    "userspace/rknpu-sim/": {"userspace/npusim/"},
    "userspace/include/": set(),
    "userspace/src/core/": set(),
    # The loader bounds the memory that a file's commands touch with the decoder of the NPU model.
    "userspace/src/model/": {"userspace/src/core/", "userspace/npusim/", "userspace/regs/"},
    "userspace/src/npu/": {"userspace/src/core/", "userspace/src/model/", "userspace/regs/"},
    "userspace/src/cpu/": {"userspace/src/core/"},
    "userspace/src/device/": {"userspace/src/core/", "userspace/npusim/", "userspace/regs/", "uapi/"},
    # Matrix multiplications: jobs made here instead of read from a file.
    "userspace/src/matmul/": {"userspace/src/" + p for p in ("core/", "cpu/", "device/")} |
                             {"userspace/regcmd/", "userspace/regs/"},
    "userspace/src/runtime/": {"userspace/src/" + p for p in
                               ("core/", "model/", "npu/", "cpu/", "device/")} |
                              {"userspace/include/"},
    # Its objects hold what the layers below made, hence their types; uapi and npu stay out of reach.
    "userspace/src/api/": {"userspace/src/" + p for p in
                           ("core/", "model/", "cpu/", "device/", "matmul/", "runtime/")} |
                          {"userspace/include/"},
    "userspace/compiler/": {"userspace/src/core/", "userspace/src/model/", "userspace/src/npu/",
                            "userspace/src/cpu/", "userspace/regs/", "userspace/regcmd/",
                            "userspace/include/"},
    "userspace/tools/": {"userspace/include/", "userspace/compiler/", "userspace/src/core/",
                         "userspace/src/model/", "userspace/src/npu/", "userspace/regs/",
                         "userspace/npusim/"},
    # Looks at every layer of a run, which the C interface does not show.
    "userspace/tools/compare/": {"userspace/src/" + p for p in
                                 ("core/", "model/", "cpu/", "device/", "runtime/", "api/")} |
                                {"userspace/include/", "userspace/tools/"},
}
# Tests may look inside the part under test and at what that part may use.
TEST = re.compile(r"(^|/)(tests|fuzz|bench)/")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
ROOTS = ["userspace/src/", "userspace/include/", "userspace/regs/include/",
         "userspace/regcmd/include/", "userspace/npusim/include/", "userspace/compiler/include/",
         "userspace/rknpu-sim/src/", "uapi/", "kernel/", "userspace/"]


def part_of(path: str) -> str:
    return max((p for p in PARTS if path.startswith(p)), key=len, default="")


def resolve(path: str, name: str, files: set[str]) -> str:
    """The tracked file that an include names, or ''."""
    for root in [os.path.dirname(path) + "/"] + ROOTS:
        candidate = os.path.normpath(os.path.join(root, name))
        if candidate in files:
            return candidate
    return ""


def include_edges(files: set[str]):
    for path in sorted(files):
        if not path.endswith(CODE):
            continue
        for number, line in enumerate(lines_of(path), 1):
            match = INCLUDE.match(line)
            if match:
                yield path, number, match.group(2), resolve(path, match.group(2), files)


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    done, trail = set(), []

    def visit(node: str) -> list[str]:
        if node in trail:
            return trail[trail.index(node):] + [node]
        if node in done:
            return []
        trail.append(node)
        for successor in sorted(graph.get(node, ())):
            cycle = visit(successor)
            if cycle:
                return cycle
        trail.pop()
        done.add(node)
        return []

    for start in sorted(graph):
        cycle = visit(start)
        if cycle:
            return cycle
    return []


def check_includes() -> list[str]:
    findings, graph = [], {}
    files = set(tracked())
    for path, number, name, target in include_edges(files):
        part, where = part_of(path), f"{path}:{number}"
        if part.startswith("kernel/") and not TEST.search(path):
            if name == "linux/version.h":
                findings.append(f"{where}: the driver asks for features, not for versions")
            if name.startswith("compat/"):
                findings.append(f"{where}: Kbuild includes the compat layer, files never do")
        if not target or TEST.search(path):
            continue
        graph.setdefault(path, set()).add(target)
        if TEST.search(target):
            findings.append(f"{where}: production code includes the test file {target}")
        goal = part_of(target)
        if part and goal and goal != part and goal not in PARTS[part]:
            findings.append(f"{where}: {part} must not include {goal} ({name})")
    cycle = find_cycle(graph)
    if cycle:
        findings.append("include cycle: " + " -> ".join(cycle))
    return findings


# --- sizes ---------------------------------------------------------------------------------------

STRIP = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
                   re.S)
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b[^()=]*$")


def functions(text: str):
    """(first line, length) of each function body: lines between its braces."""
    text = STRIP.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)
    text = re.sub(r"^[ \t]*#.*(?:\\\n.*)*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text,
                  flags=re.M)
    stack, last, number = [], 0, 1
    for index, char in enumerate(text):
        if char == "\n":
            number += 1
        elif char == "{":
            head = text[last:index]
            inside = any(kind == "function" for kind, _ in stack)
            is_function = not inside and ")" in head and not SCOPE.search(head)
            stack.append(("function" if is_function else "scope", number))
            last = index + 1
        elif char == "}":
            if stack:
                kind, start = stack.pop()
                if kind == "function":
                    yield start, number - start - 1
            last = index + 1
        elif char == ";":
            last = index + 1


def check_lengths() -> list[str]:
    findings = []
    for path in tracked():
        if not path.endswith(CODE):
            continue
        lines = lines_of(path)
        if len(lines) > MAX_FILE and not path.startswith(("uapi/", "userspace/include/")):
            findings.append(f"{path}:1: {len(lines)} lines, more than {MAX_FILE}")
        if TEST.search(path):
            continue  # a Catch2 TEST_CASE with sections reads as one long function
        for start, length in functions("\n".join(lines)):
            if length > MAX_FUNCTION:
                findings.append(f"{path}:{start}: function of {length} lines, more than {MAX_FUNCTION}")
    return findings


# --- kernel --------------------------------------------------------------------------------------

def check_kernel() -> list[str]:
    findings = []
    for path in tracked():
        if not path.startswith("kernel/") or path.startswith(("kernel/compat/", "kernel/tests/")):
            continue
        for number, line in enumerate(lines_of(path), 1):
            if re.search(r"LINUX_VERSION_CODE|KERNEL_VERSION", line):
                findings.append(f"{path}:{number}: version test")
            if path.endswith(".c") and re.match(r"\s*#\s*(if|ifdef|ifndef|elif)\b", line):
                findings.append(f"{path}:{number}: conditional in a core file")
    return findings


# --- public bug reports --------------------------------------------------------------------------

REPORTS = {*range(1, 47), 70, 71}


def tested_reports() -> set[int]:
    """Numbers in the names of selftests ("b07_..."), in the tags of unit tests ("[b07]"), and before
    what a script in the guest checks (check "b07 ...")."""
    found = set()
    for path in tracked():
        if path.startswith("selftests/") and path.endswith(".c"):
            names = re.findall(r"^TEST[A-Z_]*\(([^)]*)\)", "\n".join(lines_of(path)), re.M)
            found.update(int(n) for name in names
                         for n in re.findall(r"(?<![a-z0-9])b(\d\d)(?=_)", name))
        elif path.startswith("scripts/vm/"):
            found.update(int(n) for n in re.findall(r'check "b(\d\d) ', "\n".join(lines_of(path))))
        elif path.endswith("_test.cpp"):
            found.update(int(n) for n in re.findall(r"\[b(\d\d)\]", "\n".join(lines_of(path))))
    return found


def check_reports() -> list[str]:
    """Each report has a test with its number, or Documentation/testing.rst says why not."""
    page = "Documentation/testing.rst"
    _, _, reasons = "\n".join(lines_of(page)).partition("Not tested by a program of ours")
    excused = {int(n) for head in re.findall(r"^\* ((?:b\d\d,? ?)+)", reasons, re.M)
               for n in re.findall(r"b(\d\d)", head)}
    return [f"{page}:1: b{n:02} has no test and no reason why"
            for n in sorted(REPORTS - tested_reports() - excused)]


CHECKS = {"spdx": check_spdx, "words": check_words, "includes": check_includes,
          "lengths": check_lengths, "kernel": check_kernel, "reports": check_reports}

if __name__ == "__main__":
    found = CHECKS[sys.argv[1]]()
    print("\n".join(found))
    sys.exit(1 if found else 0)
