package runner

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// podReserve is the part of a pod's grace period that is reserved for delivery after
	// the command.
	podReserve = 5 * time.Second
	// podLast is how long before the end of the grace period no new work starts.
	podLast = time.Second
	// stopReasonWait is how long a pod that is being deleted waits for the reason.
	stopReasonWait = 2 * time.Second
)

// Pod configures a runner that has a container to itself: the container's environment and
// control group are those of the task, and its files disappear with it, so the server
// keeps the checkpoints.
type Pod struct {
	Grace       time.Duration // from SIGTERM to the end of the container
	Rank        int           // of the pod in its gang
	Address     string        // IP address at which the other pods of a gang reach it
	GangTimeout time.Duration // how long the pods of a gang wait for each other
	Scratch     string        // folder for the homes and temporary files of tasks
	OwnHome     bool          // homes and temporary files are always in Scratch, because the pod runs several attempts
	Private     string        // folder in memory for files with secrets; "": with the other files
	Folder      string        // working directory of the image; "": unknown
	Image       *ImageCommand // default command of the image; nil: unknown
}

// runsIn reports whether a command without a folder runs in the image's working
// directory. An image without one means /; an explicit command then gets a writable
// folder instead.
func (p *Pod) runsIn(imageCommand bool) bool {
	return p.Folder != "" && (imageCommand || p.Folder != "/" || writable("/"))
}

// commandGrace limits the grace period of a command, from SIGTERM on, to what the pod
// allows.
func (p *Pod) commandGrace(grace time.Duration) time.Duration {
	if p == nil || p.Grace <= 0 {
		return grace
	}
	return min(grace, max(p.Grace-podReserve, p.Grace/2))
}

// podEnvironment returns the variables that a command inherits in a pod: all that the
// image and the pod's fields set. HOME and TMPDIR are set when the container's own are
// not writable, as with a read-only root file system. Of the runner's settings, the
// command gets those that its SDK needs to reach the server.
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
