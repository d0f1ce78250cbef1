package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// logBytes is the size above which the supervisor's log is restarted.
const logBytes = 4 << 20

// command returns the supervisor's command. It runs in its own session, so that neither
// the terminal's signals nor the end of this process reach it.
func (l *Launcher) command() (*exec.Cmd, *os.File, error) {
	if err := os.MkdirAll(l.config.Dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("runner folder: %w", err)
	}
	log, err := openLog(filepath.Join(l.config.Dir, "runner.log"))
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(l.config.Executable, l.config.Args...) //nolint:noctx // it outlives this process
	cmd.Env = supervisorEnvironment(l.config.Environ)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = l.config.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, log, nil
}

func openLog(path string) (*os.File, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Size() > logBytes {
		flags |= os.O_TRUNC
	}
	log, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("runner log: %w", err)
	}
	return log, nil
}

// supervisorEnvironment removes the server's settings and its database credentials from
// environ: a task can read its supervisor's environment.
func supervisorEnvironment(environ []string) []string {
	kept := []string{}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		own := strings.HasPrefix(name, "FLOWFORGE_") && !strings.HasPrefix(name, "FLOWFORGE_PYTHON")
		if !own && !strings.HasPrefix(name, "PG") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// buildOf identifies a build of the program.
func buildOf(executable string) string {
	info, err := os.Stat(executable)
	if err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%x-%x", info.Size(), info.ModTime().UnixNano())
}
