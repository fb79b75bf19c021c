#!/bin/bash
# SPDX-License-Identifier: MIT
# make demo: boot the emulated RK3588, load the driver, classify the committed digit pictures
# through librknnrt.so and /dev/dri, show the driver's debugfs files. KERNEL chooses the series.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
no_arguments "$@"

scripts=$RKNPU_ROOT/scripts
kernel=${KERNEL:-6.12}
digits=$RKNPU_ROOT/userspace/models/digits
start=$SECONDS

fail() {
    echo "demo: FAIL $*"
    exit 1
}

say "fetching (cache: $RKNPU_CACHE)"
"$scripts/fetch.sh" qemu busybox "kernel-$kernel" sysroot-arm64 || fail "something could not be fetched"
say "building"
"$scripts/build-userspace.sh" host rknpu-sim || fail "the NPU model does not build"
"$scripts/build-userspace.sh" aarch64 rknnrt rknn-run || fail "the runtime does not build"
step "building the driver for $kernel" "$scripts/build-module.sh" "$kernel" ||
    fail "the driver does not build"

say "booting the emulated RK3588"
out=$RKNPU_BUILD/demo
rm -rf "$out"
mkdir -p "$out"
files=(--file "$digits:/data/digits" --file "$scripts/vm/demo.sh:/data/demo.sh")
while read -r file; do
    files+=(--file "$file")
done < <(find "$RKNPU_BUILD/aarch64" \( -name 'librknnrt.so*' -o -name rknn-run \) \
    \( -type f -o -type l \) -not -path '*/CMakeFiles/*')
status=0
STEP_WATCH=$out/output.log step "running the demo in the guest" "$scripts/run-vm.sh" --kernel "$kernel" --name demo \
    --out "$out" --timeout 240 --env RKNPU_DEVICE=drm "${files[@]}" \
    --run "sh /data/demo.sh" || status=$?

grep -v '^rknpu-vm: ' "$out/output.log" | awk '/^--- predictions/ { skip = 1; next }
    /^---/ { skip = 0 } !skip' || true
[ "$status" -eq 0 ] || fail "the VM run failed; logs: $out"

# The guest prints "NAME: CLASS SCORE" for each picture; the labels are "NAME CLASS".
echo "--- predictions"
right=0 total=0
while read -r picture label; do
    line=$(grep -F "$picture: " "$out/output.log" | head -n 1 || true)
    prediction=${line#*"$picture: "}
    class=${prediction%% *}
    total=$((total + 1))
    if [ "$class" = "$label" ]; then mark=right && right=$((right + 1)); else mark=WRONG; fi
    printf '%-24s label %s  prediction %-20s %s\n' "$picture" "$label" "${prediction:-none}" "$mark"
done <"$digits/pictures/labels.txt"

[ "$total" -ge 20 ] || fail "only $total pictures in $digits/pictures"
# The model's own accuracy is at least 97 %: of a few dozen pictures one may be wrong.
[ "$right" -ge $((total - 1 - total / 50)) ] || fail "$right of $total pictures right"
echo "demo: PASS $right of $total pictures right on /dev/dri, kernel $(cat "$("$scripts/fetch.sh" \
    --path "kernel-$kernel")/release"), $((SECONDS - start)) s"
