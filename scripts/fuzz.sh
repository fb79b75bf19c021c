#!/bin/bash
# SPDX-License-Identifier: MIT
# make fuzz: search for files that break the loader and for register streams that break the model of
# the NPU, under ASan and UBSan. With clang libFuzzer searches, else changes are drawn by lot.
#
#   fuzz.sh [loader|streams]...    RKNPU_FUZZ_SECONDS=600 for each of them
#
# Seeds are the models of this repository and, where they are, those of RKNPU_TEST_DATA. What was
# found stays in build/fuzz/corpus and is built upon the next time; an input that breaks something is
# kept as build/fuzz/TARGET-crash-*.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
no_options "$@"

seconds=${RKNPU_FUZZ_SECONDS:-600}
data=${RKNPU_TEST_DATA:-$RKNPU_ROOT/../shared/data}
largest=262144 # bytes of a seed: larger models take too long for one try
case $seconds in '' | *[!0-9]*) die "RKNPU_FUZZ_SECONDS is '$seconds'" "a number of seconds" ;; esac
[ $# -gt 0 ] || set -- loader streams
for target in "$@"; do
    case $target in loader | streams) ;; *) die "unknown target '$target'" "loader or streams" ;; esac
done
build_folder
out=$RKNPU_BUILD/fuzz

# True if clang++ links a program with libFuzzer and the sanitizers.
has_libfuzzer() {
    local probe=$out/probe
    command -v clang++ >/dev/null &&
        echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
        clang++ -fsanitize=fuzzer,address,undefined -x c++ - -o "$probe" 2>/dev/null &&
        rm -f "$probe"
}

build() { # build CMAKE_TARGET...
    local args="-DRKNPU_FUZZ=ON -DRKNPU_SANITIZE=address,undefined -DRKNPU_TESTS=OFF"
    args+=" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O1 -DCMAKE_CXX_FLAGS=-O1"
    [ "$engine" != libFuzzer ] || args+=" -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++"
    RKNPU_BUILD=$out CMAKE_ARGS=$args "$RKNPU_ROOT/scripts/build-userspace.sh" host "$@"
}

# models: paths of the models to start from
models() {
    find "$RKNPU_ROOT/userspace/models" -name '*.rknn'
    [ ! -d "$data/rknn" ] || find "$data/rknn" -name '*.rknn' -size "-$((largest / 1024))k"
}

seeds_of_loader() {
    local path
    while IFS= read -r path; do
        cp "$path" "$1/$(basename "$path")"
    done < <(models)
}

seeds_of_streams() {
    local path
    while IFS= read -r path; do
        case $path in *rk3588*) ;; *) continue ;; esac
        mkdir -p "$out/stream-seeds"
        "$out/userspace/tests/npusim_fuzz_seeds" "$path" "$out/stream-seeds" || continue
        for seed in "$out"/stream-seeds/*; do
            mv "$seed" "$1/$(basename "$path" .rknn)-${seed##*/}"
        done
    done < <(models)
}

# search NAME PROGRAM LARGEST
search() {
    local name=$1 program=$2 corpus=$out/corpus/$1 seeds=$out/seeds/$1
    rm -rf "$seeds"
    mkdir -p "$corpus" "$seeds"
    "seeds_of_$name" "$seeds"
    say "fuzzing: $name with $engine for $seconds s, $(find "$seeds" -type f | wc -l) seeds"
    if [ "$engine" = libFuzzer ]; then
        "$program" -max_total_time="$seconds" -max_len="$3" -timeout=60 -rss_limit_mb=4096 \
            -print_final_stats=1 -artifact_prefix="$out/$name-" "$corpus" "$seeds" \
            >"$out/$name.log" 2>&1 || return 1
        grep -E '^(stat::number_of_executed_units|stat::average_exec|stat::new_units)' \
            "$out/$name.log" >&2
        grep -E 'cov:' "$out/$name.log" | tail -n 1 >&2
    else
        RKNPU_FUZZ_LAST=$out/$name-crash-last "$program" "$seconds" "$RANDOM" "$seeds"/* \
            >"$out/$name.log" 2>&1 || return 1
        rm -f "$out/$name-crash-last"
        tail -n 1 "$out/$name.log" >&2
    fi
}

mkdir -p "$out"
engine="random changes"
! has_libfuzzer || engine=libFuzzer
failed=0
for target in "$@"; do
    case $target in
    loader)
        build rknpu_loader_fuzz
        search loader "$out/userspace/tests/rknpu_loader_fuzz" "$largest" || failed=1
        ;;
    streams)
        build npusim_fuzz npusim_fuzz_seeds
        search streams "$out/userspace/npusim/npusim_fuzz" 65536 || failed=1
        ;;
    esac
    [ "$failed" -eq 0 ] || {
        tail -n 40 "$out/$target.log" >&2
        die "fuzzing $target found something" "see $out/$target.log and the input beside it"
    }
done
say "fuzzing found nothing"
