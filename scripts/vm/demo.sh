#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest side of "make demo": the digit model on /dev/dri, and what the driver tells about it.
debug=/sys/kernel/debug/rknpu
model=/data/digits/digits_int8_rk3588.rknn
cd /data/digits/pictures || exit 1

show() { # show FILE TITLE
    echo "--- $2"
    cat "$debug/$1" || exit 1
}

busy() { # busy TEXT: some core's percentage is not zero
    echo "$1" | grep -q '[1-9][0-9]*%'
}

used() { # used TEXT: there is memory in use
    echo "$1" | grep -q 'used: [1-9]'
}

show version "version"
show mm "mm before the model is loaded"
echo "--- predictions"
# shellcheck disable=SC2046 # file names without blanks
rknn-run --top 1 "$model" $(cut -d' ' -f1 labels.txt) || exit 1

# The load of the predictions is to be gone, so that what is seen below is the loop's.
tries=0
while load=$(cat $debug/load) && busy "$load"; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { echo "the load stays: $load" && exit 1; }
    sleep 0.1
done

echo "--- load and mm while a job loop runs in SRAM"
rknn-run --top 1 --sram --loop 8 "$model" "$(head -n 1 labels.txt | cut -d' ' -f1)" >/tmp/loop.log 2>&1 &
loop=$!
while kill -0 $loop 2>/dev/null; do
    load=$(cat $debug/load) mm=$(cat $debug/mm)
    ! busy "$load" || ! used "$mm" || break
    sleep 0.1
done
echo "$load"
echo "$mm"
wait $loop || { cat /tmp/loop.log && exit 1; }
busy "$load" || { echo "no core showed any load" && exit 1; }
used "$mm" || { echo "no SRAM was used" && exit 1; }
show mm "mm after the model is gone"
! used "$(cat $debug/mm)" || { echo "SRAM is still in use" && exit 1; }
