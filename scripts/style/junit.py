#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn ctest's JUnit report into "pass|fail|skip PREFIX: NAME" lines."""
import sys
import xml.etree.ElementTree as tree


def main(path: str, prefix: str) -> int:
    cases = list(tree.parse(path).getroot().iter("testcase"))
    for case in cases:
        if case.find("failure") is not None or case.get("status") == "fail":
            word = "fail"
        elif case.find("skipped") is not None:
            word = "skip"
        else:
            word = "pass"
        print(word, f"{prefix}: {case.get('name')}")
    return 0 if cases else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
