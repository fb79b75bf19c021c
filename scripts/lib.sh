# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Helpers shared by the scripts of this folder: messages, the cache folder, a private apt.

RKNPU_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
RKNPU_CACHE=${RKNPU_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rknpu}
RKNPU_BUILD=${RKNPU_BUILD:-$RKNPU_ROOT/build}
export RKNPU_ROOT RKNPU_CACHE RKNPU_BUILD

say() { printf '%s\n' "$*" >&2; }

die() {
    printf '%s: error: %s\n' "${0##*/}" "$1" >&2
    [ $# -lt 2 ] || printf '%s: cure:  %s\n' "${0##*/}" "$2" >&2
    exit 1
}

need() { # need PROGRAM...: name what is missing and how to get it
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null ||
            die "program '$program' is missing" "run scripts/setup.sh (it needs root or sudo)"
    done
}

# step TEXT COMMAND...: run COMMAND with its output in a log file. Prints TEXT at once, the elapsed
# time every 5 s while it runs, and the end of the log when it fails.
step() {
    local text=$1 log pid rc=0 start=$SECONDS
    shift
    log=$(mktemp "${TMPDIR:-/tmp}/rknpu-step.XXXXXX")
    say "  $text"
    "$@" >"$log" 2>&1 &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        sleep 0.2
        if ((SECONDS - start > 0 && (SECONDS - start) % 5 == 0 && ${last:-0} != SECONDS)); then
            local last=$SECONDS
            say "    ... $((SECONDS - start)) s: $(tail -c 300 "$log" | tr '\r' '\n' |
                grep -v '^ *$' | tail -n 1 | cut -c 1-90)"
        fi
    done
    wait "$pid" || rc=$?
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
