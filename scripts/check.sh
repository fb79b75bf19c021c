#!/bin/bash
# SPDX-License-Identifier: MIT
# The checks behind "make check".
#
#   check.sh [unit|golden|arm|sanitize|threads|debug|debug-kernel|soak|vm|matrix|style|dist|more|all]...
#
# KERNELS="6.1 6.12" chooses the VM's kernels. "matrix" is all selftests on all boards with each of them.
# RKNPU_TIME_LIMIT=MINUTES leaves out what would take longer at the end of "all".
# "debug" is "debug-kernel", "sanitize" (unit tests with ASan and UBSan) and "threads" (with TSan).
# "soak" is RKNPU_STRESS_SECONDS (600) of mixed stress on the debug kernel and RKNPU_FUZZ_COUNT
# (1000000) random requests on the newest one.
#
# Each check appends "pass|fail|skip NAME" to build/check/results; the last line printed is
# "N passed, N failed, N skipped" and the exit status says whether all is well.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
no_options "$@"

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

# The NPU model against slow rules, with many more random cases than the unit tests take. Not part of
# "all". RKNPU_GOLDEN_CASES: cases in each of the tests' groups.
check_golden() {
    say "random cases of the NPU model"
    "$scripts/build-userspace.sh" host engine_test || { record fail "engine_test builds" && return; }
    local program log=$RKNPU_BUILD/check/golden.log cases
    program=$(find "$RKNPU_BUILD/userspace" -name engine_test -type f -perm -u+x | head -n 1)
    # shellcheck disable=SC2016 # the inner shell expands them
    if ! STEP_WATCH=$log RKNPU_GOLDEN_CASES=${RKNPU_GOLDEN_CASES:-11000} step "running engine_test" \
        bash -c '"$1" --durations yes >"$2" 2>&1' - "$program" "$log"; then
        tail -n 40 "$log" >&2
        record fail "golden: all random cases"
        return
    fi
    cases=$(sed -n 's/^random cases: //p' "$log")
    record pass "golden: ${cases:-0} random cases"
    say "  ${cases:-0} random cases"
}

run_ctest() { # run_ctest BUILD NAME [PROGRAM]...: all tests, or those of some programs
    local report=$RKNPU_BUILD/check/$2.xml filter=.
    [ $# -le 2 ] || filter="^($(IFS='|' && echo "${*:3}")):"
    rm -f "$report"
    RKNPU_TEST_DATA=$data step "running ctest" ctest --test-dir "$1" -j "$(nproc)" \
        --tests-regex "$filter" --output-on-failure --output-junit "$report" || true
    [ -e "$report" ] || { record fail "$2: ctest ran" && return; }
    python3 "$scripts/style/junit.py" "$report" "$2" >>"$results" ||
        record fail "$2: ctest report is readable"
}

# Programs for ARM under QEMU's user emulation: the conversions with NEON, which no other check runs,
# and the interface to programs in 32 bit.
check_arm() {
    say "conversions with NEON, 32-bit programs"
    arm_tests aarch64 sysroot-arm64 rknpu_convert_test
    arm_tests armhf sysroot-armhf rknpu_{convert,loader,api,contract,clients,device,kinds,matmul}_test
}

# Of those in 32 bit, the ones that say most for their time.
check_arm_few() {
    say "32-bit programs"
    arm_tests armhf sysroot-armhf rknpu_{clients,contract}_test
}

arm_tests() { # arm_tests TARGET SYSROOT PROGRAM...
    local target=$1 sysroot=$2 qemu=qemu-${1/armhf/arm}-static
    shift 2
    if ! command -v "$qemu" >/dev/null; then
        record skip "$target: $qemu is not installed (scripts/setup.sh)"
        return
    fi
    "$scripts/fetch.sh" "$sysroot"
    "$scripts/build-userspace.sh" "$target" "$@" ||
        { record fail "$target: the tests build" && return; }
    run_ctest "$RKNPU_BUILD/$target" "$target" "$@"
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

# Callers test these functions, so the shell's exit on error is off in them: hence the "&&".
build_guest_programs() {
    "$scripts/fetch.sh" qemu busybox sysroot-arm64 sysroot-armhf &&
        "$scripts/build-userspace.sh" host rknpu-sim rknn-run &&
        "$scripts/build-userspace.sh" aarch64 rknnrt rknn-run rknpu_vm_tests &&
        "$scripts/build-userspace.sh" armhf rknnrt rknpu_vm_tests &&
        build_selftests aarch64 aarch64-linux-gnu- &&
        build_selftests armhf arm-linux-gnueabihf-
}

build_selftests() { # build_selftests NAME CROSS_COMPILE
    step "building selftests ($1)" make -s -C "$RKNPU_ROOT/selftests" CROSS_COMPILE="$2" \
        OUT="$RKNPU_BUILD/selftests/$1"
}

# Wrong tasks and unmapped addresses are part of these tests: the server shall not count them.
set_selftests() { # set_selftests ARCH: sets "selftests" to the options for one run of all of them
    local program
    selftests=(--sim-arg --allow-refused --sim-arg --allow-faults)
    while read -r program _; do
        case $program in '' | '#'*) continue ;; esac
        selftests+=(--file "$RKNPU_BUILD/selftests/$1/$program" --run "$program")
    done <"$RKNPU_ROOT/selftests/list"
}

vm_selftests() { # vm_selftests KERNEL ARCH
    local selftests
    set_selftests "$2"
    vm "$1" "selftests $2" "${selftests[@]}" --timeout 900
}

# Programs that need an NPU which misbehaves: one boot for each line of selftests/faults.
vm_faults() { # vm_faults KERNEL
    local fault rules program
    while IFS='|' read -r fault rules program; do
        case $fault in '#'* | '') continue ;; esac
        fault=${fault// /} rules=${rules// /} program=${program# }
        vm "$1" "fault $fault" --env "RKNPU_FAULT=$fault" --sim-arg --fault --sim-arg "$rules" \
            --sim-arg --allow-refused --sim-arg --allow-faults --timeout 600 \
            --file "$RKNPU_BUILD/selftests/aarch64/${program%% *}" --run "$program" </dev/null
    done <"$RKNPU_ROOT/selftests/faults"
}

# Memory that a device address of 32 bits could not name.
vm_large() { # vm_large KERNEL
    local program options=()
    for program in submit mem_sync prime; do
        options+=(--file "$RKNPU_BUILD/selftests/aarch64/$program" --run "$program")
    done
    vm "$1" "memory above 4 GiB" --memory 6G "${options[@]}" --sim-arg --allow-refused \
        --sim-arg --allow-faults --timeout 300
}

set_programs() { # set_programs LIST: sets "selftests" to the options for programs separated by commas
    local program
    selftests=(--sim-arg --allow-refused --sim-arg --allow-faults)
    while IFS= read -r -d , program; do
        program=${program# }
        [ -z "$program" ] || selftests+=(--run "$program"
            --file "$RKNPU_BUILD/selftests/aarch64/${program%% *}")
    done <<<"$1,"
}

# Other boards, and other ways to load the driver: one boot for each line of selftests/boards.
vm_boards() { # vm_boards KERNEL
    local board how programs selftests
    while IFS='|' read -r board how programs; do
        case $board in '#'* | '') continue ;; esac
        set_programs "$programs"
        # shellcheck disable=SC2086 # options without blanks in them
        vm "$1" "board ${board// /}" $how "${selftests[@]}" --timeout 900 </dev/null
    done <"$RKNPU_ROOT/selftests/boards"
}

# All selftests on one kernel and each board. What does not apply to a board is skipped there by name.
vm_matrix() { # vm_matrix KERNEL
    local board selftests
    set_selftests aarch64
    for board in rk3588-{vendor,percore,noiommu} rk3576{,-percore,-noiommu}; do
        vm "$1" "all selftests on $board" --board "$board" "${selftests[@]}" --timeout 1800
    done
}

# Device trees that lack something or have it wrong: what the driver says to them.
vm_probe() { # vm_probe KERNEL
    local board
    for board in rk3588-broken rk3588-bare; do
        vm "$1" "probe of $board" --board "$board" --no-load --timeout 200 \
            --file "$scripts/vm/probe.sh:/tests/probe.sh" --run "sh /tests/probe.sh"
    done
    vm "$1" "probe of rk3568 with 6 GiB" --board rk3568 --memory 6G --timeout 200 \
        --run "dmesg | grep 'memory above 4 GiB: .*boot with mem=3840M'"
}

# make_case NAME MODEL INPUT...: a folder with a model, its inputs and the outputs that the model of
# the NPU in the process gives for them.
make_case() {
    local dir=$RKNPU_BUILD/check/cases/$1 model=$2
    shift 2
    mkdir -p "$dir/expected" && cp "$model" "$@" "$dir/" || return 1
    echo "$(basename "$model") $(basename -a "$@" | tr '\n' ' ')" >"$dir/arguments"
    # shellcheck disable=SC2046 # file names without blanks
    (cd "$dir" && "$RKNPU_BUILD/userspace/tools/rknn-run" --device sim --quiet --raw expected \
        $(cat arguments) >/dev/null)
}

# One case for each float16 model, with as many bytes of somebody's picture as it has elements.
make_float16_cases() {
    local model models elements input=$RKNPU_BUILD/check/bytes.bin
    while read -r elements models; do
        head -c "$elements" "$data/rknn/multiple_input/mi_input2.bin" >"$input"
        for model in "$data/rknn"/$models; do
            make_case "$(basename "$model" .rknn)" "$model" "$input" || return 1
        done
    done <<'END'
31360 conv_fp16/conv_160_320_3x3_14x14_fp16_rk3588.rknn
6272 conv_fp16/conv_32_128_3x3_14x14_fp16_rk3588.rknn
6040 audio_fp16/*.rknn
END
}

make_cases() {
    local digits=$RKNPU_ROOT/userspace/models/digits cases=$RKNPU_BUILD/check/cases
    rm -rf "$cases"
    make_case digits "$digits/digits_int8_rk3588.rknn" "$digits"/pictures/*.png &&
        cp "$digits/pictures/labels.txt" "$cases/digits/" || return 1
    if [ ! -d "$data/rknn" ]; then
        record skip "runtime: other people's models (no test data in $data, RKNPU_TEST_DATA names another place)"
        return 0
    fi
    make_case mnist "$data/rknn/mnist/mnist_int8_rk3588.rknn" "$digits"/pictures/*_a.png &&
        cp "$digits/pictures/labels.txt" "$cases/mnist/" &&
        make_case multiple_input "$data/rknn/multiple_input/multiple_input_rk3588.rknn" \
            "$data"/rknn/multiple_input/mi_input[12].bin &&
        make_case layout2 "$data/rknn/multiple_input/multiple_input_rk3588_layout2.rknn" \
            "$data"/rknn/multiple_input/mi_input[12].bin &&
        make_case mobilenet_v2 "$data/rknn/mobilenet_v2/mobilenet_v2_int8_rk3588.rknn" \
            "$data/rknn/mobilenet_v2/bell.jpg" &&
        make_case segmentation "$data/rknn/segmentation/pp_human_segv2_rk3588.rknn" \
            "$data/rknn/segmentation/test_image.jpg" &&
        make_float16_cases
}

vm_runtime() { # vm_runtime KERNEL: the cases, and the scripts of userspace/tests/vm when there are any
    local case script file page options=(--env RKNPU_DEVICE=drm --file "$RKNPU_BUILD/check/cases:/cases"
        --file "$scripts/vm/runtime.sh:/tests/runtime.sh")
    while read -r file; do
        options+=(--file "$file")
    done < <(find "$RKNPU_BUILD/aarch64" \( -name 'librknnrt.so*' -o -name rknn-run \
        -o -name rknpu_vm_tests \) \( -type f -o -type l \) -not -path '*/CMakeFiles/*')
    for case in "$RKNPU_BUILD"/check/cases/*/; do
        options+=(--run "sh /tests/runtime.sh $(basename "$case")")
    done
    # The commands of the documentation that are marked for it, page by page
    options+=(--file "$scripts/rknpu-doctor")
    for page in $(cd "$RKNPU_ROOT/Documentation" && grep -l '^\.\. run: emulated board' ./*.rst); do
        page=$(basename "$page" .rst)
        options+=(--run "# commands of $page.rst"$'\n'"$(cd "$RKNPU_ROOT" && python3 scripts/style/docs.py board "$page")")
    done
    # RKNPU_CONTAINER=1: a model in a container without privileges
    [ "${RKNPU_CONTAINER:-0}" = 0 ] || options+=(--file "$RKNPU_BUILD/selftests/aarch64/in_container"
        --file "$scripts/vm/container.sh:/tests/container.sh" --run "sh /tests/container.sh")
    for script in "$RKNPU_ROOT"/userspace/tests/vm/*.sh; do
        [ -e "$script" ] || continue
        options+=(--file "$script:/tests/${script##*/}" --run "sh /tests/${script##*/}")
    done
    # The runtime's own comparison of /dev/dri with the model in the process, over core masks.
    options+=(--env RKNPU_MODELS=/data/models --file "$RKNPU_ROOT/userspace/models:/data/models"
        --env RKNPU_TEST_DATA=/data/shared --run rknpu_vm_tests)
    for case in multiple_input mnist; do
        [ ! -d "$data/rknn/$case" ] ||
            options+=(--file "$data/rknn/$case:/data/shared/rknn/$case")
    done
    # The same as a 32-bit program. Its library first: the other one has the same name.
    options+=(--file "$RKNPU_BUILD/armhf/src/api/librknnrt.so:/lib/arm-linux-gnueabihf/librknnrt.so"
        --file "$RKNPU_BUILD/armhf/tests/rknpu_vm_tests:/bin/rknpu_vm_tests_32bit"
        --run rknpu_vm_tests_32bit)
    vm "$1" runtime "${options[@]}" --timeout 600
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
    # 7.3's headers name a pahole that is not wanted here.
    if grep 'warning:' "$log" | grep -v 'pahole version' >"$log.found"; then
        head -n 5 "$log.found" >&2
        record fail "$1: the driver builds without warnings (W=1)"
    else
        record pass "$1: the driver builds without warnings (W=1)"
    fi
}

# Kernels of Debian 13 need its compiler.
fetch_kernel() { # fetch_kernel SERIES
    "$scripts/fetch.sh" "kernel-$1"
    case $(cat "$RKNPU_CACHE/kernel-$1/suite") in trixie*) "$scripts/fetch.sh" trixie ;; esac
}

# From 6.15 on the kernel puts a device behind its IOMMU before any driver comes: the order of power is
# another one there.
vm_new_kernel() { # vm_new_kernel KERNEL
    local selftests
    fetch_kernel "$1"
    build_driver "$1" || return 0
    set_programs "version, submit, power, clock, suspend"
    vm "$1" "power, sleep" "${selftests[@]}" --timeout 300
}

check_vm() {
    local kernel
    say "tests on the emulated board"
    build_guest_programs || { record fail "the guest's programs build" && return; }
    make_cases || { record fail "rknn-run runs on the model in the process" && return; }
    for kernel in $kernels; do
        fetch_kernel "$kernel"
        build_driver "$kernel" || continue
        vm_selftests "$kernel" aarch64
        vm_selftests "$kernel" armhf
        vm_runtime "$kernel"
        # The recovery paths do not depend on the kernel's version, nor does most of what differs between
        # boards: the newest one will do. "matrix" runs them on all.
        if [ "$kernel" = "${kernels##* }" ]; then
            vm_faults "$kernel"
            vm_large "$kernel"
            vm_boards "$kernel"
            vm_probe "$kernel"
        fi
        # The doctor's test moves a device node, which the kernel no longer removes then: it comes last.
        vm "$kernel" "load and unload 50 times" --no-load --timeout 600 \
            --file "$scripts/vm/reload.sh:/tests/reload.sh" --run "sh /tests/reload.sh" \
            --file "$scripts/rknpu-doctor" --file "$scripts/vm/doctor.sh:/tests/doctor.sh" \
            --run "sh /tests/doctor.sh"
    done
    [ -n "${KERNELS:-}" ] || vm_new_kernel 7.3
}

check_matrix() {
    local kernel
    say "all selftests, kernels and boards"
    build_guest_programs || { record fail "the guest's programs build" && return; }
    for kernel in ${KERNELS:-6.1 6.12 7.3}; do
        fetch_kernel "$kernel"
        build_driver "$kernel" || continue
        vm_matrix "$kernel"
    done
}

# The unit tests once more, under the address and undefined behaviour sanitizers.
check_sanitized() {
    say "unit tests under ASan and UBSan"
    local build=$RKNPU_BUILD/sanitize
    RKNPU_BUILD=$build CMAKE_ARGS="-DRKNPU_SANITIZE=address,undefined" \
        "$scripts/build-userspace.sh" host || { record fail "userspace builds with sanitizers" && return; }
    run_ctest "$build/userspace" sanitized
}

# Those of them that have threads, or run the code that others call from threads, under TSan.
check_threads() {
    say "tests of the interface under TSan"
    local build=$RKNPU_BUILD/threads tests
    tests=(rknpu_{api,contract,clients,device,matmul,kinds}_test)
    RKNPU_BUILD=$build CMAKE_ARGS="-DRKNPU_SANITIZE=thread" \
        "$scripts/build-userspace.sh" host "${tests[@]}" ||
        { record fail "the tests build with TSan" && return; }
    # Children that make threads are stopped else.
    TSAN_OPTIONS=die_after_fork=0 run_ctest "$build/userspace" threads "${tests[@]}"
}

# vm_checked NAME OPTION...: a boot of the debug kernel in which every report of a checker counts
vm_checked() {
    local name=$1 checkers="sh /tests/checkers.sh"
    shift
    vm debug "$name" --no-load --env RKNPU_TEST_PATIENCE=8 --append "kmemleak=on page_poison=1" \
        --file "$scripts/vm/checkers.sh:/tests/checkers.sh" --run "$checkers on" "$@" \
        --run "$checkers off"
}

# The debug kernel has to be built first; that takes long.
build_for_debug_kernel() {
    "$scripts/fetch.sh" kernel-debug || { record fail "the debug kernel builds" && return 1; }
    build_guest_programs || { record fail "the guest's programs build" && return 1; }
    build_driver debug
}

check_debug_kernel() {
    say "tests on the debug kernel"
    build_for_debug_kernel || return 0
    local selftests
    set_selftests aarch64
    vm_checked "selftests aarch64" "${selftests[@]}" --timeout 2400
    vm_checked_boards
}

# The programs that find most for their time
check_debug_kernel_few() {
    say "tests on the debug kernel"
    build_for_debug_kernel || return 0
    local selftests
    set_programs "version, submit, recovery, lifetime, fence, isolation"
    vm_checked "few selftests" "${selftests[@]}" --timeout 720
}

# Boards whose power domains and IOMMU differ, with the programs that depend on it.
vm_checked_boards() {
    local board selftests
    set_programs "version, submit, multicore, power, clock, suspend"
    for board in rk3588-percore rk3588-noiommu; do
        vm_checked "board $board" --board "$board" "${selftests[@]}" --timeout 1200
    done
}

# The two tests that draw lots, for as long as they are worth it.
check_soak() {
    say "mixed stress, random requests"
    build_for_debug_kernel || return 0
    local seconds=${RKNPU_STRESS_SECONDS:-600} count=${RKNPU_FUZZ_COUNT:-1000000}
    local kernel=${kernels##* } allow=(--sim-arg --allow-refused --sim-arg --allow-faults)
    local programs=$RKNPU_BUILD/selftests/aarch64
    vm_checked "$seconds s of stress" "${allow[@]}" --timeout $((seconds * 2 + 600)) \
        --env "RKNPU_STRESS_SECONDS=$seconds" --env RKNPU_STRESS_SUSPEND=20 \
        --file "$programs/stress" --run stress
    fetch_kernel "$kernel"
    build_driver "$kernel" || return 0
    vm "$kernel" "$count random requests" "${allow[@]}" --timeout $((count / 200 + 600)) \
        --env "RKNPU_FUZZ_COUNT=$count" --env "RKNPU_TEST_PATIENCE=10" \
        --file "$programs/fuzz" --run fuzz
}

check_debug() {
    check_sanitized
    check_threads
    check_debug_kernel
}

# Minutes that are left of RKNPU_TIME_LIMIT, without one as many as anybody may want
minutes_left() {
    echo $((${RKNPU_TIME_LIMIT:-100000} - SECONDS / 60))
}

# Building the debug kernel takes half an hour, and so do its tests. They run when it is in the cache or
# RKNPU_DEBUG_KERNEL=1 asks for them; with a RKNPU_TIME_LIMIT (minutes), as far as it reaches.
check_debug_if_wanted() {
    local left
    if [ "${RKNPU_DEBUG_KERNEL:-0}" != 0 ]; then
        check_debug
        return
    fi
    record skip "sanitizers: too long for every run (make check-debug)"
    left=$(minutes_left)
    if [ "$left" -lt 15 ]; then
        record skip "debug kernel: $left minutes left of $RKNPU_TIME_LIMIT are too few (make check-debug)"
    elif "$scripts/fetch.sh" --has kernel-debug || fetch_debug_kernel_in_time $((left - 12)); then
        if [ "$(minutes_left)" -ge 60 ]; then check_debug_kernel; else check_debug_kernel_few; fi
    elif [ -n "${RKNPU_TIME_LIMIT:-}" ]; then
        record skip "debug kernel: it is not built in the $((left - 12)) minutes left (make check-debug)"
    else
        record skip "debug kernel: building it takes too long for every run (RKNPU_DEBUG_KERNEL=1, make check-debug)"
    fi
}

fetch_debug_kernel_in_time() { # fetch_debug_kernel_in_time MINUTES
    [ -n "${RKNPU_TIME_LIMIT:-}" ] && timeout "$1m" "$scripts/fetch.sh" kernel-debug
}

check_style() {
    say "style"
    RKNPU_RESULTS=$results "$scripts/check-style.sh" || true
    RKNPU_RESULTS=$results "$scripts/check-scripts.sh" || true
}

# What users install, in the small: the make targets of the same names check all kernels, boards and
# releases. Each script writes its own results.
check_dist() {
    say "doctor, device trees, kernel source trees"
    local RKNPU_RESULTS=$results RKNPU_FEW_BOARDS=2
    export RKNPU_RESULTS RKNPU_FEW_BOARDS
    "$scripts/check-doctor.sh" || true
    "$scripts/fetch.sh" kernel-6.12 kernel-7.3
    "$scripts/check-dts.sh" 6.12 7.3 || true
    "$scripts/check-intree.sh" 6.12 || true
}

# Not part of "all": packages, the kernels that no test boots by default, targets of the Makefile.
check_more() {
    say "packages, more kernels, make install"
    local RKNPU_RESULTS=$results
    export RKNPU_RESULTS
    "$scripts/check-packages.sh" bookworm || true
    "$scripts/check-install.sh" || true
    "$scripts/check-kernels.sh" --quick 5.10 7.3 || true
}

build_folder
mkdir -p "$RKNPU_BUILD/check"
: >"$results"
[ $# -gt 0 ] || set -- all
for part in "$@"; do
    case $part in
    unit) check_unit ;;
    golden) check_golden ;;
    arm) check_arm ;;
    sanitize) check_sanitized ;;
    threads) check_threads ;;
    debug) check_debug ;;
    debug-kernel) check_debug_kernel ;;
    soak) check_soak ;;
    vm) check_vm ;;
    matrix) check_matrix ;;
    style) check_style ;;
    dist) check_dist ;;
    more) check_more ;;
    all) check_unit && check_arm_few && check_style && check_vm && check_dist && check_debug_if_wanted ;;
    *) die "unknown check '$part'" "check.sh --help names them all" ;;
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
