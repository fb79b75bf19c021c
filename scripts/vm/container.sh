#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest side: what a container needs to use the NPU, and that it needs no more. Prints TAP.
# shellcheck disable=SC2016,SC2317 # functions are called by name, programs expand in the container
number=0 failed=0
check() { # check NAME COMMAND...
    number=$((number + 1)) name=$1
    shift
    if "$@"; then echo "ok $number $name"; else echo "not ok $number $name" && failed=1; fi
}

render=''
for node in /dev/dri/renderD*; do render=$node; done
# The rights that the udev rule gives: group render. The number is the host's.
chgrp 104 "$render" && chmod 660 "$render"
cd /cases/digits || exit 1
model=$(sed 's/ .*//' arguments)
picture=$(sed 's/[^ ]* \([^ ]*\).*/\1/' arguments)

run_model() { # run_model OPTION...: the model in a container, its first output compared
    in_container "$@" sh -c "cd /cases/digits && rknn-run --device drm --quiet --raw /tmp/out $model $picture >/dev/null &&
        for file in /tmp/out/*; do cmp \"\$file\" expected/\${file##*/} || exit 1; done" 2>/tmp/container.log
}
refused() { ! run_model "$@"; }
alone() { # only what was passed through is there, and nothing is allowed
    in_container -n "$render" -g 104 sh -c '
        [ "$(echo /dev/dri/*)" = "$1" ] && [ ! -e /sys/kernel ] && [ "$(id -u)" = 1000 ] &&
        [ "$(grep -cE "^Cap(Eff|Prm|Bnd):.0+$" /proc/self/status)" = 3 ] &&
        grep -q "^NoNewPrivs:.1" /proc/self/status' sh "$render"
}

check "the container has one node and no privilege" alone
check "the render node and its group are enough" run_model -n "$render" -g 104
check "without the group the node cannot be opened" refused -n "$render"
check "without the node there is no NPU" refused -g 104
check "after that it still works" run_model -n "$render" -g 104
[ $failed -eq 0 ] || cat /tmp/container.log
exit $failed
