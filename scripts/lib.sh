# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Helpers shared by the scripts of this folder: messages, the cache folder, a private apt.

RKNPU_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# A login without a home (a service, env -i) still has one in the list of users.
: "${HOME:=$(getent passwd "$(id -u)" | cut -d: -f6)}"
RKNPU_CACHE=${RKNPU_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rknpu}
RKNPU_BUILD=${RKNPU_BUILD:-$RKNPU_ROOT/build}
export RKNPU_ROOT RKNPU_CACHE RKNPU_BUILD

say() { printf '%s\n' "$*" >&2; }

die() {
    printf '%s: error: %s\n' "${0##*/}" "$1" >&2
    [ $# -lt 2 ] || printf '%s: cure:  %s\n' "${0##*/}" "$2" >&2
    exit 1
}

no_arguments() { # no_arguments "$@": for scripts that take none
    [ $# -eq 0 ] || die "unknown argument '$1'" "${0##*/} --help"
}

no_options() { # no_options "$@": for scripts that take names only
    case ${1:-} in -*) die "unknown option '$1'" "${0##*/} --help" ;; esac
}

# "SCRIPT --help" prints the comment at the script's head, unless it has more to say.
case ${1:-} in
-h | --help)
    if ! grep -qs '^usage()' "$0"; then
        sed -n '3,/^[^#]/s/^# \?//p' "$0"
        exit 0
    fi
    ;;
esac

need() { # need PROGRAM...: name what is missing and how to get it
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null ||
            die "program '$program' is missing" "run scripts/setup.sh (it needs root or sudo)"
    done
}

# writable DIR VARIABLE: make the folder, or say which variable names another one
writable() {
    mkdir -p -- "$1" 2>/dev/null || true
    if [ ! -d "$1" ] || [ ! -w "$1" ]; then
        die "cannot write to the folder $1" "set $2 to a folder that can be written"
    fi
}

# build_folder: make the folder of build products and mark it as ours: "make clean" removes no other.
# One that was there before and holds anything gets no mark.
build_folder() {
    [ ! -e "$RKNPU_BUILD/.rknpu-build" ] || [ ! -w "$RKNPU_BUILD" ] || return 0
    writable "$RKNPU_BUILD" RKNPU_BUILD
    if [ "$RKNPU_BUILD" = "$RKNPU_ROOT/build" ] || [ -z "$(ls -A "$RKNPU_BUILD")" ]; then
        : >"$RKNPU_BUILD/.rknpu-build"
    fi
}

# verdict WORD NAME: one result (pass, fail or skip) of the checks that the variable suite names. It is
# printed and, where RKNPU_RESULTS names a file, added to it. The variable failed becomes 1 on a fail.
verdict() {
    [ -z "${RKNPU_RESULTS:-}" ] || echo "$1 ${suite:?}: $2" >>"$RKNPU_RESULTS"
    say "  $1: $2"
    # shellcheck disable=SC2034 # read by the scripts that call this
    [ "$1" != fail ] || failed=1
}

# driver_sources FOLDER...: names of the driver's sources below folders, each ended by NUL. Works
# where there is no git, too; tests and what a build left there (in-tree kbuild does) are no sources.
driver_sources() {
    find "$@" -name tests -prune -o \( -type f -o -type l \) \
        \( -name '*.[ch]' -o -name 'K*' -o -name Makefile -o -name '*.sh' \) \
        ! -name '*.mod.c' ! -name compat_config.h -print0
}

# on_signals COMMAND: what is to be done on INT, TERM and HUP before the shell dies of that signal, as
# its callers expect. (A shell whose child left with a status instead goes on with its next command.)
on_signals() {
    local signal
    for signal in INT TERM HUP; do
        # shellcheck disable=SC2064 # the command is expanded now
        trap "trap '' INT TERM HUP; $1; trap - INT TERM HUP; kill -s $signal \$BASHPID" "$signal"
    done
}

# step TEXT COMMAND...: run COMMAND with its output in a log file and nothing to read. Prints TEXT at
# once, the elapsed time every 5 s while it runs, with the last line of the log (of STEP_WATCH, a file
# that the command writes, if set), and the end of the log when it fails. A signal ends COMMAND, too.
step() {
    local text=$1 log pid rc=0 start=$SECONDS last=0 line traps
    shift
    log=$(mktemp "${TMPDIR:-/tmp}/rknpu-step.XXXXXX" 2>/dev/null) ||
        die "cannot write to the folder ${TMPDIR:-/tmp}" "set TMPDIR to a folder that can be written"
    say "  $text"
    # A process group of its own: so its children get the signal, too.
    traps=$(trap -p INT TERM HUP)
    set -m
    "$@" </dev/null >"$log" 2>&1 &
    pid=$!
    set +m
    on_signals "set +e; kill -- -$pid 2>/dev/null; wait $pid 2>/dev/null; rm -f '$log'; say '  $text: interrupted'"
    while kill -0 "$pid" 2>/dev/null; do
        sleep 0.2
        if ((SECONDS - start > 0 && (SECONDS - start) % 5 == 0 && last != SECONDS)); then
            last=$SECONDS
            line=$(tail -c 300 "${STEP_WATCH:-$log}" 2>/dev/null | tr '\r' '\n' | grep -v '^ *$' |
                tail -n 1 | cut -c 1-90) || true # grep finds nothing in an empty log
            say "    ... $((SECONDS - start)) s${line:+: $line}"
        fi
    done
    wait "$pid" || rc=$?
    trap - INT TERM HUP
    eval "$traps"
    if [ "$rc" -ne 0 ]; then
        tail -n 40 "$log" >&2
        say "  $text: failed with status $rc after $((SECONDS - start)) s"
    fi
    rm -f "$log"
    return "$rc"
}

# The Debian mirrors that this machine's apt uses, best first, one URI a line. apt itself parses
# its configuration, so one-line and deb822 sources, proxies and mirror lists all work.
debian_mirrors() {
    if [ -n "${RKNPU_MIRROR:-}" ]; then
        printf '%s\n' "$RKNPU_MIRROR"
        return
    fi
    # Origin is known only once the lists were fetched; before that every non-security
    # source of this release is a candidate.
    local codename
    codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    # shellcheck disable=SC2016 # apt expands them
    apt-get indextargets --format '$(ORIGIN)|$(COMPONENT)|$(RELEASE)|$(REPO_URI)' \
        'Created-By: Packages' |
        awk -F'|' -v codename="$codename" '
            $2 != "main" || $3 ~ /security/ || $4 ~ /^cdrom:/ { next }
            $1 != "" && $1 != "Debian" { next }
            { rank = ($1 == "Debian" ? 0 : 2) + ($3 == codename || $3 == "stable" ? 0 : 1)
              if (!seen[$4]++) print rank "|" $4 }' |
        sort -s -n | cut -d'|' -f2
}

# private_apt NAME ARCHES SUITE...: write an apt configuration below the cache that knows only the
# named suites and no installed package, fetch and verify its indices, and set APT_CONFIG to it.
# The machine's own settings (proxy, credentials) stay in force, its package state is not touched.
private_apt() {
    local name=$1 arches=$2 dir mirror suite
    shift 2
    dir=$RKNPU_CACHE/apt/$name
    mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial" "$dir/etc"
    : >"$dir/state/status"
    cat >"$dir/apt.conf" <<CONF
Dir::State "$dir/state";
Dir::State::status "$dir/state/status";
Dir::Cache "$dir/cache";
Dir::Etc::sourcelist "$dir/etc/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Architecture "${arches%%,*}";
APT::Architectures { "${arches//,/\";\"}"; };
APT::Install-Recommends "false";
APT::Immediate-Configure "false";
APT::Sandbox::User "root";
APT::Update::Pre-Invoke "";
APT::Default-Release "";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Acquire::Check-Valid-Until "false";
CONF
    for mirror in $(debian_mirrors); do
        for suite in "$@"; do
            printf 'deb [arch=%s signed-by=%s] %s %s main\n' "$arches" \
                /usr/share/keyrings/debian-archive-keyring.gpg "$mirror" "$suite"
        done >"$dir/etc/sources.list"
        if APT_CONFIG=$dir/apt.conf step "reading the index of $*" \
            apt-get update --error-on=any; then
            export APT_CONFIG=$dir/apt.conf
            return 0
        fi
    done
    return 1
}
