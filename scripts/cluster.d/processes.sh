# Manages the processes of a cluster. They run in separate sessions, with files below $state/pid
# and their output below $state/log. Sourced by scripts/cluster.

# born ID: prints the start time of a process in kernel ticks, and nothing for a zombie.
born() { sed -n 's/^.*) [A-Y] //p' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f19; }

# process FILE: prints the process ID in the file while that process lives. The file also
# contains the start time, because the kernel reuses IDs.
process() {
	read -r id birth 2>/dev/null <"$1" && [ -n "${birth:-}" ] && [ "$(born "$id")" = "$birth" ] && echo "$id"
}

running() { process "$state/pid/$1" >/dev/null; }

# launch NAME COMMAND…: starts a process that outlives this script.
launch() {
	launched=$1
	shift
	mkdir -p "$state/pid" "$state/log"
	setsid "$@" >"$state/log/$launched.log" 2>&1 </dev/null 9>&- &
	echo "$! $(born "$!")" >"$state/pid/$launched"
}

# favour NAME: raises its priority above that of tests (as root), because the cluster loses a
# node that gets no CPU time for seconds. Pods do not inherit the priority.
favour() { renice -n -5 -p "$(process "$state/pid/$1")" >/dev/null 2>&1 || true; }

# await SECONDS WHAT COMMAND…: waits until the command succeeds.
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

# finish NAME SECONDS: stops a process, and kills it after the seconds.
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
