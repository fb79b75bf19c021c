#!/bin/bash
# SPDX-License-Identifier: MIT
# Boot the emulated board once, run commands in it, judge the run.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

usage() {
    cat <<'TEXT'
usage: run-vm.sh [OPTION]... --run COMMAND [--run COMMAND]...

Boots a Debian arm64 kernel on QEMU with the emulated NPU, loads the driver, runs each COMMAND
with the guest's shell, and exits 0 only when all is well: every command returned 0 (4 = skipped),
the kernel log is clean, the verdict line is there and the NPU server left with status 0.

  --kernel SERIES       6.1, 6.12 or 7.3 (default 6.12), fetched with scripts/fetch.sh
  --kernel-tree DIR     a folder with vmlinuz, release and modules/ instead (debug kernels)
  --board NAME          one of dts/virt: rk3588-vendor (default), rk3588-percore,
                        rk3588-noiommu, rk3576, rk3576-percore, rk3576-noiommu,
                        rk3568, rk3562
  --dts FILE            a device tree fragment of another place
  --module FILE         driver to load (default: build/modules/SERIES/rknpu.ko); rknpu_board.ko,
                        the power of the emulated board, must lie beside it
  --module-args TEXT    parameters for it
  --no-load             put the driver into /lib/modules but leave insmod to the commands
  --no-module           no driver at all
  --extra-module NAME   load a module of the kernel before the driver, may be repeated
  --file SRC[:DST]      copy a file or folder into the guest (default DST: /bin/NAME when it is
                        executable, /data/NAME otherwise); libraries that it needs come along
  --env NAME=VALUE      environment of the commands
  --run COMMAND         guest shell command, in the order given
  --timeout SECONDS     for the whole run (default 300)
  --cpus N, --memory M  default 2, 1G
  --append TEXT         more kernel parameters
  --qemu-arg ARG        argument for QEMU, may be repeated
  --sim FILE            NPU server (default build/userspace/rknpu-sim/rknpu-sim)
  --sim-arg ARG         argument for it, may be repeated
  --soc NAME            default: as the device tree says
  --out DIR             keep the logs there (default: a new folder below build/vm, removed when
                        the run passes)
  --show                print what the commands print, also when the run passes
  --name TEXT           name in the messages
  --results FILE        append "pass|fail|skip NAME" lines

Tests that provoke IOMMU faults write "rknpu-vm: expect-fault on" (and off) to /dev/kmsg.
TEXT
}

series=6.12 tree='' dts=$RKNPU_ROOT/dts/virt/rk3588-vendor.dtsi module='' module_args='' load=1
files=() extras=() envs=() commands=() qemu_args=() timeout=300 cpus=2 memory=1G append='' soc='' out=''
show=0
sim=$RKNPU_BUILD/userspace/rknpu-sim/rknpu-sim sim_args=() name='' results=''
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help | --no-load | --no-module | --show) ;;
    *) [ $# -gt 1 ] || { usage >&2 && die "option '$1' is unknown or lacks its value"; } ;;
    esac
    case $1 in
    --kernel) series=$2 ;;
    --kernel-tree) tree=$2 ;;
    --board) dts=$RKNPU_ROOT/dts/virt/$2.dtsi ;;
    --dts) dts=$2 ;;
    --module) module=$2 ;;
    --module-args) module_args=$2 ;;
    --no-load) load=0 && set -- x "$@" ;;
    --no-module) module=none && set -- x "$@" ;;
    --extra-module) extras+=("$2") ;;
    --file) files+=("$2") ;;
    --env) envs+=("$2") ;;
    --run) commands+=("$2") ;;
    --timeout) timeout=$2 ;;
    --cpus) cpus=$2 ;;
    --memory) memory=$2 ;;
    --append) append=$2 ;;
    --qemu-arg) qemu_args+=("$2") ;;
    --sim) sim=$2 ;;
    --sim-arg) sim_args+=("$2") ;;
    --soc) soc=$2 ;;
    --out) out=$2 ;;
    --show) show=1 && set -- x "$@" ;;
    --name) name=$2 ;;
    --results) results=$2 ;;
    -h | --help) usage && exit 0 ;;
    *) usage >&2 && die "unknown option '$1'" ;;
    esac
    shift 2
done

[ ${#commands[@]} -gt 0 ] || { usage >&2 && die "no command is given" "--run COMMAND"; }
need cpio gzip dtc aarch64-linux-gnu-readelf timeout
[ -n "$tree" ] || tree=$("$RKNPU_ROOT/scripts/fetch.sh" --path "kernel-$series")
qemu=$("$RKNPU_ROOT/scripts/fetch.sh" --path qemu)/qemu
busybox=$("$RKNPU_ROOT/scripts/fetch.sh" --path busybox)/busybox
release=$(cat "$tree/release")
: "${module:=$RKNPU_BUILD/modules/$series/rknpu.ko}" "${name:=kernel $release}"
[ "$module" = none ] || [ -e "$module" ] ||
    die "no driver at $module" "scripts/build-module.sh $series"
[ -x "$sim" ] || die "no NPU server at $sim" "make userspace"

keep=1
if [ -z "$out" ]; then
    build_folder
    mkdir -p "$RKNPU_BUILD/vm"
    out=$(mktemp -d "$RKNPU_BUILD/vm/$series.XXXXXX")
    keep=0
fi
mkdir -p "$out"
out=$(cd "$out" && pwd)
# Socket paths are limited to 107 bytes: keep them away from deep build folders.
run=$(mktemp -d "${TMPDIR:-/tmp}/rknpu-vm.XXXXXX" 2>/dev/null) ||
    die "cannot write to the folder ${TMPDIR:-/tmp}" "set TMPDIR to a folder that can be written"
server=
cleanup() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$run"
}
trap cleanup EXIT
on_signals :

# with_includes FILE: a device tree fragment in one piece
# shellcheck disable=SC2094 # only the folder of the file is named in its loop
with_includes() {
    local line
    while IFS= read -r line; do
        case $line in
        '/include/ "'*) line=${line#*\"} && with_includes "$(dirname "$1")/${line%\"}" ;;
        *) printf '%s\n' "$line" ;;
        esac
    done <"$1"
}
[ -e "$dts" ] || die "no device tree $dts" "run-vm.sh --help names the boards"
with_includes "$dts" >"$run/fragment.dts"
dts=$run/fragment.dts
# setting NAME: what the device tree says of itself; a file outdoes what it includes
setting() { sed -n "/.*board: $1 /{s///p;q}" "$dts"; }
: "${soc:=$(setting soc)}"
append="$append $(setting append)"
cores=$(setting cores)
# functions: "fnN slot bar address" for each PCI function of the board: a core each, and SRAM
functions() {
    sed -n 's/.*board: \(fn[0-9]*\) slot=\([0-9]*\) bar=\([0-9]*\) address=\(.*\)/\1 \2 \3 \4/p' "$dts" |
        while read -r line; do
            case $line in
            fn3*) echo "$line" ;;
            fn[0-2]*) [ "${line:2:1}" -ge "${cores:-3}" ] || echo "$line" ;;
            esac
        done
}
blocks=$(setting blocks)
[ -z "$blocks" ] || sim_args=(--blocks "$blocks" "${sim_args[@]}")

# --- the guest's file system ---------------------------------------------------------------------

root=$run/root
mkdir -p "$root"/{bin,sbin,dev,proc,sys,tmp,data,lib/modules,etc/rknpu/run,usr/bin}
cp "$busybox" "$root/bin/busybox"
while read -r applet; do
    ln -sf busybox "$root/bin/$applet"
done < <(grep -v "^#" "$RKNPU_ROOT/scripts/vm/applets")
install -m 755 "$RKNPU_ROOT/scripts/vm/init" "$root/init"
install -m 755 "$RKNPU_ROOT/scripts/vm/expect-fault" "$root/bin/expect-fault"

# add_libraries FILE: the shared libraries that an arm program needs, and their own
add_libraries() {
    local file=$1 header triplet library dir
    header=$(aarch64-linux-gnu-readelf -hld "$file" 2>/dev/null) || return 0
    case $header in
    *AArch64*) triplet=aarch64-linux-gnu ;;
    *ARM*) triplet=arm-linux-gnueabihf ;;
    *) return 0 ;;
    esac
    local sysroot=$RKNPU_CACHE/sysroot-arm64
    [ "$triplet" = aarch64-linux-gnu ] || sysroot=$RKNPU_CACHE/sysroot-armhf
    # shellcheck disable=SC2013 # library names hold no blanks
    for library in $(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p; s/.*interpreter: .*\/\(.*\)\]/\1/p' <<<"$header"); do
        [ ! -e "$root/lib/$triplet/$library" ] || continue
        for dir in "${library_dirs[@]}" "/usr/$triplet/lib" "$sysroot/usr/lib/$triplet" \
            "$sysroot/lib/$triplet"; do
            [ -e "$dir/$library" ] || continue
            mkdir -p "$root/lib/$triplet"
            cp -L "$dir/$library" "$root/lib/$triplet/"
            case $library in ld-linux*) ln -sf "$triplet/$library" "$root/lib/$library" ;; esac
            add_libraries "$dir/$library"
            continue 2
        done
        die "no library $library for ${file##*/}" "give its folder with --file"
    done
}

library_dirs=()
for entry in "${files[@]}"; do
    source=${entry%%:*}
    [ -e "$source" ] || die "no such file: $source"
    library_dirs+=("$(dirname "$source")")
done
for entry in "${files[@]}"; do
    source=${entry%%:*} target=
    case $entry in *:*) target=${entry#*:} ;; esac
    if [ -z "$target" ]; then
        case $source in
        *.so | *.so.*) target=/lib/$(basename "$source") ;;
        *) if [ -f "$source" ] && [ -x "$source" ]; then target=/bin; else target=/data; fi
            target+=/$(basename "$source") ;;
        esac
    fi
    mkdir -p "$root$(dirname "$target")"
    cp -rL "$source" "$root$target"
    [ -d "$source" ] || add_libraries "$source"
done

# DRM is modular in Debian's kernels: take it along with all that it needs, in load order.
: >"$root/etc/rknpu/modules"
add_module() { # add_module NAME
    local file dependency
    file=$(find -L "$tree/modules/" -name "$1.ko" -o -name "$1.ko.xz" -o -name "${1//_/-}.ko" \
        -o -name "${1//_/-}.ko.xz" | head -n 1)
    [ -n "$file" ] || return 0 # built in
    [ ! -e "$root/lib/modules/$1.ko" ] || return 0
    case $file in
    *.xz) xz -dc "$file" >"$root/lib/modules/$1.ko" ;;
    *) cp "$file" "$root/lib/modules/$1.ko" ;;
    esac
    for dependency in $(module_depends "$root/lib/modules/$1.ko"); do
        add_module "$dependency"
    done
    echo "$1.ko" >>"$root/etc/rknpu/modules"
}
module_depends() { # module_depends FILE.ko
    aarch64-linux-gnu-objcopy -O binary -j .modinfo "$1" /dev/stdout | tr '\0' '\n' |
        sed -n 's/^depends=//p' | tr ',' ' '
}
if [ "$module" = none ]; then
    add_module drm
else
    aarch64-linux-gnu-strip -g -o "$root/lib/modules/rknpu.ko" "$module"
    for extra in rknpu_board rknpu_rival; do
        [ ! -e "$(dirname "$module")/$extra.ko" ] ||
            aarch64-linux-gnu-strip -g -o "$root/lib/modules/$extra.ko" \
                "$(dirname "$module")/$extra.ko"
    done
    for extra in "${extras[@]}" $(setting modules); do
        if [ "$extra" != rknpu_board ]; then
            add_module "$extra"
            continue
        fi
        [ -e "$root/lib/modules/$extra.ko" ] ||
            die "no $extra.ko beside $module" "scripts/build-module.sh $series"
        echo "$extra.ko" >>"$root/etc/rknpu/modules"
    done
    for dependency in $(module_depends "$module"); do
        add_module "$dependency"
    done
    if [ $load = 1 ]; then
        echo "rknpu.ko" >"$run/driver"
        echo rknpu >"$root/etc/rknpu/unload"
    fi
fi
functions | cut -d ' ' -f 2- >"$root/etc/rknpu/bars"
echo 8 >"$root/etc/rknpu/loglevel"
number=100
if [ "$module" != none ] && [ $load = 1 ]; then
    echo "insmod /lib/modules/rknpu.ko $module_args" >"$root/etc/rknpu/run/100"
    commands=("insmod rknpu.ko $module_args" "${commands[@]}")
    number=101
fi
for command in "${commands[@]:$((number - 100))}"; do
    {
        for setting in "${envs[@]}"; do printf 'export %q\n' "$setting"; done
        printf '%s\n' "$command"
    } >"$root/etc/rknpu/run/$number"
    number=$((number + 1))
done
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$run/initrd"

# --- the machine ---------------------------------------------------------------------------------

machine=(-machine "virt,memory-backend=mem"
    -object "memory-backend-memfd,id=mem,size=$memory,share=on" -m "$memory"
    -cpu cortex-a76 -smp "$cpus" -nodefaults -display none -no-reboot
    -serial "file:$out/console.log" -serial "file:$out/output.log")
"$qemu" "${machine[@]}" -machine "dumpdtb=$run/virt.dtb" 2>"$out/qemu.log"
{
    dtc -q -I dtb -O dts "$run/virt.dtb"
    cat "$dts"
} >"$run/board.dts"
dtc -q -I dts -O dtb -o "$run/board.dtb" "$run/board.dts"

devices=() sockets=()
while read -r function slot _; do
    devices+=(-device "{\"driver\":\"vfio-user-pci\",\"socket\":{\"type\":\"unix\",\"path\":\"$run/$function.sock\"},\"addr\":\"$slot.0\",\"x-no-posted-writes\":true}")
    sockets+=("$run/$function.sock")
done < <(functions)

"$sim" --socket-dir "$run" --soc "$soc" --log "$out/sim.log" "${sim_args[@]}" >"$out/sim.out" 2>&1 &
server=$!
for _ in $(seq 100); do
    for socket in "${sockets[@]}"; do [ -S "$socket" ] || { sleep 0.1 && continue 2; }; done
    break
done

start=$SECONDS qemu_status=0
: >"$out/console.log"
: >"$out/output.log"
timeout --foreground -k 5 "$timeout" "$qemu" "${machine[@]}" -dtb "$run/board.dtb" \
    "${devices[@]}" "${qemu_args[@]}" -kernel "$tree/vmlinuz" -initrd "$run/initrd" \
    -append "console=ttyAMA0 loglevel=5 panic=-1 $append" </dev/null >>"$out/qemu.log" 2>&1 ||
    qemu_status=$?
elapsed=$((SECONDS - start))

server_status=0
for _ in $(seq 100); do kill -0 "$server" 2>/dev/null || break; sleep 0.1; done
if kill -0 "$server" 2>/dev/null; then
    kill -9 "$server"
    wait "$server" 2>/dev/null || true
    server_status=hung
else
    wait "$server" || server_status=$?
fi
server=

# --- the verdict ---------------------------------------------------------------------------------

tr -d '\r' <"$out/output.log" >"$run/output" && mv "$run/output" "$out/output.log"
tr -d '\r' <"$out/console.log" >"$run/console" && mv "$run/console" "$out/console.log"
awk -f "$RKNPU_ROOT/scripts/vm/judge.awk" "$out/console.log" >"$out/findings"
problems=()
verdict=$(sed -n 's/^rknpu-vm: verdict //p' "$out/output.log" | tail -n 1)
case $verdict in
"done commands=$((number - 100)) failed=0") ;;
'') problems+=("the guest printed no verdict (QEMU status $qemu_status, ${elapsed} s of $timeout s)") ;;
*) problems+=("guest verdict: $verdict") ;;
esac
[ "$qemu_status" = 0 ] || problems+=("QEMU left with status $qemu_status (124: timeout)")
[ "$server_status" = 0 ] || problems+=("the NPU server left with status $server_status")
[ ! -s "$out/findings" ] || problems+=("the kernel log has $(wc -l <"$out/findings") bad line(s)")

# record WORD NAME: one result line; prints failures and skips
record() {
    [ -z "$results" ] || printf '%s %s: %s\n' "$1" "$name" "$2" >>"$results"
    [ "$1" = pass ] || say "  $1: $2"
}

# A command that prints TAP counts by its test lines, any other one by its status.
for index in "${!commands[@]}"; do
    id=$((100 + index))
    text=$(awk -v id="$id" '$0 ~ "^rknpu-vm: begin " id " " { on = 1; next }
        $0 ~ "^rknpu-vm: end " id " " { on = 0 } on' "$out/output.log")
    rc=$(sed -n "s/^rknpu-vm: end $id \([0-9]*\) .*/\1/p" "$out/output.log")
    title=${commands[index]%%$'\n'*}
    if grep -qE '^(not )?ok [0-9]' <<<"$text"; then
        while read -r line; do
            case $line in
            'ok '*'# SKIP'*) record skip "${line#ok }" ;;
            'ok '*) record pass "${line#ok }" ;;
            *) record fail "${line#not ok }" ;;
            esac
        done < <(grep -E '^(not )?ok [0-9]' <<<"$text")
        [ "${rc:-x}" = 0 ] || [ "${rc:-x}" = 4 ] || grep -q '^not ok' <<<"$text" ||
            record fail "$title (status ${rc:-none})"
    else
        case ${rc:-none} in
        0) record pass "$title" ;;
        4) record skip "$title: $(grep -i skip <<<"$text" | tail -n 1)" ;;
        *) record fail "$title (status ${rc:-none})" ;;
        esac
    fi
done

if [ $show = 1 ] || [ ${#problems[@]} -gt 0 ]; then
    grep -v '^rknpu-vm: \(begin\|end\|verdict\)' "$out/output.log" | tail -n 400 || true
fi
if [ ${#problems[@]} -gt 0 ]; then
    head -n 20 "$out/findings" >&2
    [ ! -s "$out/qemu.log" ] || tail -n 5 "$out/qemu.log" >&2
    [ "$server_status" = 0 ] || tail -n 5 "$out/sim.out" "$out/sim.log" >&2 2>/dev/null || true
    printf 'VM FAIL (%s, %s s): %s\n' "$name" "$elapsed" "${problems[0]}" >&2
    for problem in "${problems[@]:1}"; do say "  also: $problem"; done
    say "  logs: $out"
    record fail "VM run: ${problems[0]}"
    exit 1
fi
record pass "VM run"
say "VM PASS ($name, $elapsed s): $verdict"
[ $keep = 1 ] || rm -rf "$out"
