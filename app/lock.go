package app

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dirLock ensures that only one server uses a data directory. The kernel releases it when
// its holder dies.
type dirLock struct{ file *os.File }

// lockDir locks path, or reports its holder.
func lockDir(path, dir string) (*dirLock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(path)
		_ = f.Close()
		return nil, fmt.Errorf("another FlowForge server (PID %s) is using %s: stop it, or choose another FLOWFORGE_DATA_DIR",
			strings.TrimSpace(string(holder)), dir)
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("data directory %s: %w", dir, err)
	}
	return &dirLock{file: f}, nil
}

func (l *dirLock) release() { _ = l.file.Close() }
