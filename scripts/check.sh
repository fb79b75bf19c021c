#!/bin/bash
# SPDX-License-Identifier: MIT
# The checks behind "make check".
#
#   check.sh [unit|debug|vm|style|all]...     KERNELS="6.1 6.12" chooses the VM's kernels
#
# Each check appends "pass|fail|skip NAME" to build/check/results; the last line printed is
# "N passed, N failed, N skipped" and the exit status says whether all is well.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

scripts=$RKNPU_ROOT/scripts
results=$RKNPU_BUILD/check/results
kernels=${KERNELS:-6.1 6.12}
data=${RKNPU_TEST_DATA:-$RKNPU_ROOT/../shared/data}

record() { # record WORD NAME
    printf '%s %s\n' "$1" "$2" >>"$results"
    [ "$1" = pass ] || say "  $1: $2"
}

check_unit() {
    say "unit tests"
    "$scripts/build-userspace.sh" host || { record fail "userspace builds" && return; }
    run_ctest "$RKNPU_BUILD/userspace" unit
}

run_ctest() { # run_ctest BUILD NAME
    local report=$RKNPU_BUILD/check/$2.xml
    rm -f "$report"
    RKNPU_TEST_DATA=$data step "running ctest" ctest --test-dir "$1" -j "$(nproc)" \
        --output-on-failure --output-junit "$report" || true
    [ -e "$report" ] || { record fail "$2: ctest ran" && return; }
    python3 "$scripts/style/junit.py" "$report" "$2" >>"$results" ||
        record fail "$2: ctest report is readable"
}

# vm KERNEL NAME OPTION...: one boot
vm() {
    local kernel=$1 name=$2 status=0
    shift 2
    "$scripts/run-vm.sh" --kernel "$kernel" --name "$kernel $name" --results "$results" "$@" ||
        status=$?
    # A runner that breaks before its verdict has written no result.
    [ "$status" -eq 0 ] || grep -q "^fail $kernel $name:" "$results" ||
        record fail "$kernel $name: the VM could not be started"
}

build_guest_programs() {
    local target
    "$scripts/fetch.sh" qemu busybox sysroot-arm64 sysroot-armhf
    "$scripts/build-userspace.sh" host rknpu-sim
    "$scripts/build-userspace.sh" aarch64 rknnrt rknn-run
    for target in aarch64:aarch64-linux-gnu- armhf:arm-linux-gnueabihf-; do
        step "building selftests (${target%%:*})" make -s -C "$RKNPU_ROOT/selftests" \
            CROSS_COMPILE="${target#*:}" OUT="$RKNPU_BUILD/selftests/${target%%:*}"
    done
}

vm_selftests() { # vm_selftests KERNEL ARCH
    local program options=()
    while read -r program _; do
        case $program in '' | '#'*) continue ;; esac
        options+=(--file "$RKNPU_BUILD/selftests/$2/$program" --run "$program")
    done <"$RKNPU_ROOT/selftests/list"
    # Wrong tasks and unmapped addresses are part of these tests: the server shall not count them.
    vm "$1" "selftests $2" "${options[@]}" --sim-arg --allow-refused --sim-arg --allow-faults \
        --timeout 900
}

# Scripts in userspace/tests/vm run in the guest with the runtime, our models and, when it is there,
# the shared test data.
vm_runtime() { # vm_runtime KERNEL
    local script file options=(--env "RKNPU_MODELS=/data/models" --env "RKNPU_DEVICE=drm")
    options+=(--file "$RKNPU_ROOT/userspace/models:/data/models")
    if [ -d "$data/rknn" ]; then
        options+=(--file "$data/rknn:/data/shared/rknn" --env "RKNPU_TEST_DATA=/data/shared")
    else
        say "  no test data in $data: tests that need it are skipped (RKNPU_TEST_DATA names another place)"
    fi
    for file in $(cd "$RKNPU_BUILD/aarch64" && find . -name 'librknnrt.so*' -o -type f -perm -u+x \
        \( -name 'rknn-run' -o -name 'rknpu_vm_tests' \)); do
        options+=(--file "$RKNPU_BUILD/aarch64/$file")
    done
    for script in "$RKNPU_ROOT"/userspace/tests/vm/*.sh; do
        [ -e "$script" ] || { record fail "$1 runtime: no tests in userspace/tests/vm" && return; }
        options+=(--file "$script:/tests/${script##*/}" --run "sh /tests/${script##*/}")
    done
    vm "$1" "runtime" "${options[@]}" --timeout 600
}

logged() { # logged FILE COMMAND...: keep what the command prints
    local file=$1
    shift
    "$@" >"$file" 2>&1
}

build_driver() { # build_driver KERNEL: a warning fails the check, but not the tests that follow
    local log=$RKNPU_BUILD/check/module-$1.log
    if ! step "building the driver for $1" logged "$log" "$scripts/build-module.sh" "$1" W=1; then
        tail -n 20 "$log" >&2
        record fail "$1: the driver builds"
        return 1
    fi
    if grep -q 'warning:' "$log"; then
        grep -m 5 'warning:' "$log" >&2
        record fail "$1: the driver builds without warnings (W=1)"
    else
        record pass "$1: the driver builds without warnings (W=1)"
    fi
}

check_vm() {
    local kernel
    say "tests on the emulated board"
    build_guest_programs || { record fail "the guest's programs build" && return; }
    for kernel in $kernels; do
        "$scripts/fetch.sh" "kernel-$kernel"
        build_driver "$kernel" || continue
        vm_selftests "$kernel" aarch64
        vm_selftests "$kernel" armhf
        vm_runtime "$kernel"
        vm "$kernel" "load and unload 50 times" --no-load --timeout 600 \
            --file "$scripts/vm/reload.sh:/tests/reload.sh" --run "sh /tests/reload.sh"
    done
}

# The unit tests once more, under the address and undefined behaviour sanitizers.
check_debug() {
    say "unit tests under ASan and UBSan"
    local build=$RKNPU_BUILD/sanitize
    RKNPU_BUILD=$build CMAKE_ARGS="-DRKNPU_SANITIZE=address,undefined" \
        "$scripts/build-userspace.sh" host || { record fail "userspace builds with sanitizers" && return; }
    run_ctest "$build/userspace" sanitized
}

check_style() {
    say "style"
    RKNPU_RESULTS=$results "$scripts/check-style.sh" || true
}

mkdir -p "$RKNPU_BUILD/check"
: >"$results"
[ $# -gt 0 ] || set -- all
for part in "$@"; do
    case $part in
    unit) check_unit ;;
    debug) check_debug ;;
    vm) check_vm ;;
    style) check_style ;;
    all) check_unit && check_style && check_vm ;;
    *) die "unknown check '$part'" "unit, debug, vm, style or all" ;;
    esac
done

passed=$(grep -c '^pass ' "$results" || true)
failed=$(grep -c '^fail ' "$results" || true)
skipped=$(grep -c '^skip ' "$results" || true)
if [ "$skipped" -gt 0 ]; then
    say "skipped:" && sed -n 's/^skip /  /p' "$results" >&2
fi
if [ "$failed" -gt 0 ]; then
    say "failed:" && sed -n 's/^fail /  /p' "$results" >&2
fi
[ "$passed" -gt 0 ] || { say "no check ran" && failed=$((failed + 1)); }
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
