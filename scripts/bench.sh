#!/bin/bash
# SPDX-License-Identifier: MIT
# make bench: what the driver costs on the emulated board, and the speed of the NPU model and of the
# runtime's own work on this machine.
#
#   bench.sh [driver|model]...
#
# Figures of the driver are counts and repeat from run to run and from machine to machine; they are
# compared with selftests/overhead.baseline. Those of the model say nothing about the chip.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
no_options "$@"

scripts=$RKNPU_ROOT/scripts
out=$RKNPU_BUILD/bench
series=6.12
job_ms=50

build_driver_bench() {
    "$scripts/fetch.sh" qemu busybox "kernel-$series"
    "$scripts/build-userspace.sh" host rknpu-sim
    step "building the driver for $series" "$scripts/build-module.sh" "$series"
    step "building the programs" make -s -C "$RKNPU_ROOT/selftests" \
        CROSS_COMPILE=aarch64-linux-gnu- OUT="$RKNPU_BUILD/selftests/aarch64"
}

# guest NAME OPTION...: run a program of selftests in the guest and print what it prints
guest() {
    local name=$1
    shift
    "$scripts/run-vm.sh" --kernel "$series" --name "$name" --out "$out/$name" --timeout 600 \
        --file "$RKNPU_BUILD/selftests/aarch64/$name" "$@" >&2
    sed '/^rknpu-vm: /d' "$out/$name/output.log"
}

bench_driver() {
    build_driver_bench
    rm -rf "$out"
    mkdir -p "$out"
    {
        guest overhead --cpus 1 --qemu-arg -icount --qemu-arg shift=0,sleep=on \
            --sim-arg --synchronous --run overhead
        guest spread --sim-arg --fault --sim-arg "late:core=any,job=any,value=$job_ms" \
            --run "spread $job_ms"
    } >"$out/table"
    awk -f "$scripts/style/bench.awk" "$RKNPU_ROOT/selftests/overhead.baseline" "$out/table"
}

# frame NAME GOAL MODEL INPUT: the time of an inference on the model in the process
frame() {
    local name=$1 goal=$2 line
    shift 2
    if [ ! -e "$1" ] || [ ! -e "$2" ]; then
        say "  $name: skipped, $1 is not there (see RKNPU_TEST_DATA)"
        return
    fi
    line=$("$RKNPU_BUILD/userspace/tools/rknn-run" --device sim --loop 3 --top 1 "$@" 2>&1 >/dev/null |
        grep ' ms each') || die "$name: no inference" "run rknn-run $* by hand"
    printf '%-16s %s%s\n' "$name" "$line" "${goal:+ (goal: below $goal ms)}"
}

bench_model() {
    "$scripts/build-userspace.sh" host engine_bench api_bench rknn-run
    local bench digits=$RKNPU_ROOT/userspace/models/digits
    local data=${RKNPU_TEST_DATA:-$RKNPU_ROOT/../shared/data}/rknn
    bench=$(find "$RKNPU_BUILD/userspace" -name engine_bench -type f -perm -u+x | head -n 1)
    say "task engine on one thread"
    "$bench"
    say "whole inferences on the model in the process"
    frame digits "" "$digits/digits_int8_rk3588.rknn" "$digits/pictures/digit0_a.png"
    frame mobilenet_v2 300 "$data/mobilenet_v2/mobilenet_v2_int8_rk3588.rknn" \
        "$data/mobilenet_v2/bell.jpg"
    frame segmentation 1000 "$data/segmentation/pp_human_segv2_rk3588.rknn" \
        "$data/segmentation/test_image.jpg"
    say "conversions and rknn_init"
    RKNPU_TEST_DATA=$(dirname "$data") "$RKNPU_BUILD/userspace/tests/api_bench"
}

[ $# -gt 0 ] || set -- driver model
for part in "$@"; do
    case $part in
    driver) bench_driver ;;
    model) bench_model ;;
    *) die "unknown part '$part'" "driver or model" ;;
    esac
done
