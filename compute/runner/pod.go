package runner

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// podReserve is what delivering needs of a pod's grace period after its command.
	podReserve = 5 * time.Second
	// podLast is how long before the end of the grace period nothing more is begun.
	podLast = time.Second
	// askLimit is how long a pod that is being deleted waits to hear why.
	askLimit = 2 * time.Second
)

// Pod is what a runner knows that has a container to itself: its environment and
// its control group are the task's, and what it keeps goes with it, so that
// checkpoints are kept by the server.
type Pod struct {
	Grace       time.Duration // from SIGTERM to the end of the container
	Rank        int           // of the pod in its gang
	Address     string        // IP address at which the other pods of a gang reach it
	GangTimeout time.Duration // how long the pods of a gang wait for each other
	Scratch     string        // folder for the homes and temporary files of tasks
	OwnHome     bool          // homes and temporary files are always there, because attempts follow one another
	Private     string        // folder in memory for what holds secrets; "": among the others
	Folder      string        // where the image says that commands run; "": not known
	Image       *ImageCommand // what the image runs by itself; nil: not known
}

// runsIn reports whether a command that leaves it to the image runs in its folder. An
// image without one says / by that: a command that is named has a folder that it can
// write then.
func (p *Pod) runsIn(imageCommand bool) bool {
	return p.Folder != "" && (imageCommand || p.Folder != "/" || writable("/"))
}

// commandGrace is how long a command may take from SIGTERM on, when it asks for grace.
func (p *Pod) commandGrace(grace time.Duration) time.Duration {
	if p == nil || p.Grace <= 0 {
		return grace
	}
	return min(grace, max(p.Grace-podReserve, p.Grace/2))
}

// podEnvironment is what a command inherits in a pod: all that the image and the
// pod's fields set. A home and a place for temporary files are given where the
// container's own cannot be written, as with a read-only root file system. Of the
// runner's settings the command gets those by which its SDK reaches the server.
func podEnvironment(process []string, pod *Pod) environ {
	env := environ{"PATH": defaultPath, "LANG": "C.UTF-8", "HOME": "/"}
	for _, entry := range process {
		name, value, ok := strings.Cut(entry, "=")
		if ok && (!strings.HasPrefix(name, "FLOWFORGE_") || strings.HasPrefix(name, "FLOWFORGE_TASK_")) {
			env[name] = value
		}
	}
	if pod.Scratch == "" {
		return env
	}
	if home := env["HOME"]; pod.OwnHome || home == "/" || !writable(home) {
		env["HOME"] = scratchFolder(pod.Scratch, "home")
	}
	if pod.OwnHome || env["TMPDIR"] == "" && !writable("/tmp") {
		env["TMPDIR"] = scratchFolder(pod.Scratch, "tmp")
	}
	return env
}

func writable(folder string) bool { return unix.Access(folder, unix.W_OK|unix.X_OK) == nil }

func scratchFolder(scratch, name string) string {
	folder := filepath.Join(scratch, name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return os.TempDir()
	}
	return folder
}
