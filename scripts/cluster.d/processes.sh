# Processes of a cluster: started in sessions of their own, known by files below
# $state/pid, with their output below $state/log. Sourced by scripts/cluster.

# born ID: when a process began, in the kernel's ticks. A process that has ended and
# that nobody has waited for is none.
born() { sed -n 's/^.*) [A-Y] //p' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f19; }

# process FILE: the id in it, while that process lives. The file holds when it began as
# well: ids are given again, and what has one now may be anybody's.
process() {
	read -r id birth 2>/dev/null <"$1" && [ -n "${birth:-}" ] && [ "$(born "$id")" = "$birth" ] && echo "$id"
}

running() { process "$state/pid/$1" >/dev/null; }

# launch NAME COMMAND…: it outlives this script.
launch() {
	launched=$1
	shift
	mkdir -p "$state/pid" "$state/log"
	setsid "$@" >"$state/log/$launched.log" 2>&1 </dev/null 9>&- &
	echo "$! $(born "$!")" >"$state/pid/$launched"
}

# favour NAME: as root it goes before what tests compute, as a node that is starved
# for seconds is lost to the cluster. What pods run inherits nothing of it.
favour() { renice -n -5 -p "$(process "$state/pid/$1")" >/dev/null 2>&1 || true; }

# await SECONDS WHAT COMMAND…: until the command succeeds.
await() {
	seconds=$1 what=$2
	shift 2
	patience=$(($(date +%s) + seconds))
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$patience" ] || {
			tail -n 5 "$state"/log/*.log >&2
			fail "$what is not there after $seconds s; logs are in $state/log"
		}
		sleep 0.2
	done
}

# finish NAME SECONDS: ends a process, by force when the seconds are over.
finish() {
	[ -e "$state/pid/$1" ] || return 0
	finishing=$(process "$state/pid/$1") || finishing=
	patience=$(($(date +%s) + $2))
	[ -z "$finishing" ] || kill "$finishing" 2>/dev/null || true
	while [ -n "$finishing" ] && running "$1"; do
		[ "$(date +%s)" -lt "$patience" ] || kill -9 "$finishing" 2>/dev/null || true
		sleep 0.1
	done
	rm -f "$state/pid/$1"
}

status() {
	found=no
	for file in "$state"/pid/*; do
		[ -e "$file" ] || continue
		found=yes
		process "$file" >/dev/null && word=running || word=ended
		printf '%-26s %s\n' "$(basename "$file")" "$word"
	done
	[ "$found" = yes ] || { say "no cluster in $state"; return 1; }
	kubectl get nodes
}
