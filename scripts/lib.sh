# Functions of the scripts beside this file; sourced, not run. Everything that is
# installed goes below one cache directory, once per pinned version.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
cache=${FLOWFORGE_CACHE_DIR:-$root/.cache}
case $cache in /*) ;; *) cache=$(pwd)/$cache ;; esac

POSTGRES_VERSION=18.4.0-beta.17
CHDB_VERSION=26.7.3-stable.1
PLAYWRIGHT_VERSION=1.52.0 # exactly what playwright-go v0.5200.1 drives
AXE_VERSION=4.14.1
OIDC_PROVIDER_VERSION=9.13.3
BUF_VERSION=1.75.0
ARGO_VERSION=v3.7.3 # whose examples the tests read
PYTEST_VERSION=9.2.0
MYPY_VERSION=2.4.1

say() { printf '%s\n' "$*" >&2; }

fail() {
	say "error: $*"
	exit 1
}

# need COMMAND WHY: stop unless the command is there.
need() { command -v "$1" >/dev/null 2>&1 || fail "$1 is needed $2, and it is not installed"; }

# once NAME VERSION TEXT COMMAND…: run the command unless it has succeeded for this
# version before. Two runs at a time wait for each other; TEXT is the progress line.
# The command is a function of && chains: a shell may ignore -e inside it.
once() {
	name=$1 version=$2 text=$3
	shift 3
	mkdir -p "$cache/stamps"
	(
		flock 9
		[ "$(cat "$cache/stamps/$name" 2>/dev/null)" = "$version" ] && exit 0
		say "$text"
		for scratch in "$cache/tmp-$name"-*; do # of a run that was killed
			discard "$scratch"
		done
		scratch=$(mktemp -d "$cache/tmp-$name-XXXXXX")
		trap 'discard "$scratch"' EXIT
		trap 'kill "$!" 2>/dev/null; exit 130' INT TERM HUP
		rm -f "$cache/stamps/$name"
		"$@" "$scratch" >"$scratch.log" 2>&1 &
		if ! wait "$!"; then
			tail -n 15 "$scratch.log" >&2
			fail "this failed: $text"
		fi
		printf '%s\n' "$version" >"$scratch/stamp"
		mv "$scratch/stamp" "$cache/stamps/$name"
	) 9>"$cache/stamps/$name.lock"
}

# discard FOLDER: removes it with its log, and nothing that is mounted in it, as
# debootstrap does.
discard() {
	grep -F " $1/" /proc/mounts | cut -d' ' -f2 | sort -r | while read -r mount; do
		as_root umount -l "$mount"
	done 2>/dev/null || true
	rm -rf "$1" "$1.log"
}

# place FROM TO: move a finished folder to its place, whatever was there before.
place() {
	rm -rf "$2.old" &&
		mkdir -p "$(dirname "$2")" &&
		{ [ ! -e "$2" ] || mv "$2" "$2.old"; } &&
		mv "$1" "$2" &&
		rm -rf "$2.old"
}

# npm_fetch SCRATCH PACKAGE@VERSION…: install packages below SCRATCH/node_modules,
# running nothing of theirs.
npm_fetch() {
	into=$1
	shift
	npm install --prefix "$into" --no-save --ignore-scripts --no-audit --no-fund --loglevel=error "$@"
}

# as_root COMMAND…: run it as root, directly or by sudo without a password.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null 2>&1; then
		sudo -n "$@"
	else
		return 1
	fi
}

# apt_install PACKAGE…: from the system's own package sources.
apt_install() {
	command -v apt-get >/dev/null 2>&1 || return 1
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 update &&
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 install -y --no-install-recommends "$@"
}

# node_arch: the name of this machine in npm packages.
node_arch() {
	case $(uname -s)-$(uname -m) in
	Linux-x86_64) echo x64 ;;
	Linux-aarch64) echo arm64 ;;
	*) echo none ;;
	esac
}
