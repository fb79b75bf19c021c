#!/bin/bash
# SPDX-License-Identifier: MIT
# Style of the whole tree: licences, formatting, shell, kernel style, sparse, includes, sizes.
# RKNPU_RESULTS names a file that gets "pass|fail|skip style: NAME" lines.
# shellcheck disable=SC2317 # the functions are called by name through check()
set -uo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
no_arguments "$@"
cd "$RKNPU_ROOT" || exit 1

failed=0
check() { # check NAME COMMAND...: 0 pass, 4 skip, else fail; the output is shown unless it passes
    local name=$1 status=0 output word
    shift
    output=$("$@" 2>&1) || status=$?
    case $status in 0) word=pass ;; 4) word=skip ;; *) word=fail && failed=1 ;; esac
    [ -z "${RKNPU_RESULTS:-}" ] || echo "$word style: $name" >>"$RKNPU_RESULTS"
    say "  $word: $name"
    [ $word = pass ] || printf '%s\n' "$output" | head -n "${STYLE_LINES:-40}" | sed 's/^/    /' >&2
}

files() { git ls-files -- "$@" | while read -r file; do [ ! -f "$file" ] || echo "$file"; done; }

format() {
    files 'userspace/*.cpp' 'userspace/*.hpp' 'userspace/*.c' 'userspace/*.h' |
        xargs -r clang-format --dry-run -Werror
}

shell() {
    files '*.sh' 'scripts/vm/init' 'scripts/vm/expect-fault' '.ci/run' 'scripts/rknpu-*' 'debian/*.in' 'debian/*.postrm' |
        xargs -r shellcheck -x
}

# judge IGNORED_TYPES: checkpatch for the files on standard input
judge() {
    xargs -r perl "$RKNPU_CACHE/checkpatch/checkpatch.pl" --no-tree --strict --terse --no-summary \
        --file --show-types --ignore "$1"
}

checkpatch() {
    local failed=0
    "$RKNPU_ROOT/scripts/fetch.sh" checkpatch || return 1
    # Iterators use their arguments more than once by design, and a uapi header cannot use the
    # kernel's own attribute macros.
    files 'kernel/*.c' 'kernel/*.h' 'uapi/*.h' |
        grep -v -e '^kernel/tests/shim/' -e '^kernel/compat/' -e '_trace\.h$' |
        judge MACRO_ARG_REUSE,PREFER_DEFINED_ATTRIBUTE_MACRO || failed=1
    # Stand-ins for functions that a kernel lacks drop arguments and use what was there before.
    # Probes are no code that runs: only whether they compile counts.
    files 'kernel/compat/*.h' 'kernel/compat/*.c' | grep -v '/probes/' |
        judge MACRO_ARG_UNUSED,MACRO_ARG_REUSE,LINE_SPACING,DEPRECATED_API || failed=1
    # Trace events have a layout of their own.
    files 'kernel/*_trace.h' | judge OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT || failed=1
    return "$failed"
}

sparse_build() {
    local series=6.12 log
    "$RKNPU_ROOT/scripts/fetch.sh" "kernel-$series" || return 1
    log=$(RKNPU_BUILD=$RKNPU_BUILD/sparse "$RKNPU_ROOT/scripts/build-module.sh" "$series" W=1 C=2 2>&1) ||
        { printf '%s\n' "$log" && return 1; }
    # Findings in the kernel's own headers are not ours to mend.
    ! grep -E '(warning|error):' <<<"$log" | grep -vE '(^|/)(include|arch)/'
}

check "SPDX line first in every file" python3 scripts/style/style.py spdx
check "no machine paths, mirror names, leftover marks" python3 scripts/style/style.py words
check "include rules" python3 scripts/style/style.py includes
check "function and file lengths" python3 scripts/style/style.py lengths
check "kernel: no version tests, no conditionals in core files" python3 scripts/style/style.py kernel
check "every public bug report has its test or a reason" python3 scripts/style/style.py reports
check "README.md has at most 120 lines" test "$(wc -l <README.md)" -le 120
check "documentation is well-formed" python3 scripts/style/docs.py rst
check "each command in the documentation is run by somebody" python3 scripts/style/docs.py check
check "userspace is clang-formatted" format
check "scripts pass shellcheck" shell
check "kernel and uapi pass checkpatch --strict" checkpatch
check "device tree overlays compile without warnings" scripts/build-dtbs.sh
check "driver is sparse clean (W=1 C=2)" sparse_build
exit $failed
