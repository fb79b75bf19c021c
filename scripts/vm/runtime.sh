#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest side: runtime.sh CASE. Run the case's model on /dev/dri and compare each output byte for byte
# with what the model in the process gave on the host; where the case has labels, count right answers.
cd "/cases/$1" || exit 1
rm -rf /tmp/out
# shellcheck disable=SC2046 # file names without blanks
rknn-run --device drm --quiet --top 1 --raw /tmp/out $(cat arguments) >/tmp/top || exit 1

files=0
for file in expected/*; do
    cmp "$file" "/tmp/out/${file##*/}" || exit 1
    files=$((files + 1))
done
[ $files -gt 0 ] || { echo "no expected output" && exit 1; }
echo "$files outputs are equal byte for byte"

[ -e labels.txt ] || exit 0
wrong=0 total=0
while read -r picture label; do
    grep -q "^$picture: " /tmp/top || continue
    total=$((total + 1))
    grep -q "^$picture: $label " /tmp/top || { wrong=$((wrong + 1)) && grep "^$picture: " /tmp/top; }
done <labels.txt
echo "$((total - wrong)) of $total right"
# One in ten may be wrong: the models' own accuracy is 97 % or better.
[ $total -ge 10 ] && [ $((wrong * 10)) -le $total ]
