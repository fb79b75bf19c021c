#!/bin/bash
# SPDX-License-Identifier: MIT
# make bench: speed of the NPU model and of the runtime's own work on this machine. Figures of the
# model say nothing about the chip.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

"$RKNPU_ROOT/scripts/build-userspace.sh" host engine_bench api_bench rknn-run
bench=$(find "$RKNPU_BUILD/userspace" -name engine_bench -type f -perm -u+x | head -n 1)
say "task engine"
"$bench"
say "a whole inference: the digit model on the model in the process"
digits=$RKNPU_ROOT/userspace/models/digits
"$RKNPU_BUILD/userspace/tools/rknn-run" --device sim --loop 3 --top 1 \
    "$digits/digits_int8_rk3588.rknn" "$digits/pictures/digit0_a.png"
say "conversions and rknn_init"
RKNPU_TEST_DATA=${RKNPU_TEST_DATA:-$RKNPU_ROOT/../shared/data} "$RKNPU_BUILD/userspace/tests/api_bench"
