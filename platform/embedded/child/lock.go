package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/flowforge/flowforge/apperr"
)

// lockPatience is how long Lock waits for an owner that is exiting.
const lockPatience = 3 * time.Second

// Lock makes the caller the exclusive owner of the directory of the file at path. The
// kernel releases the lock when the owner dies, so the holder may treat every remaining
// process in the directory as an orphan. Closing the file unlocks. If another owner is
// alive, Lock returns a Conflict that names it.
func Lock(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	deadline := time.Now().Add(lockPatience)
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		if time.Now().After(deadline) {
			owner, _ := io.ReadAll(io.LimitReader(f, 20))
			_ = f.Close()
			return nil, apperr.New(apperr.Conflict, "%s is in use by process %s: stop that server, or choose another data directory",
				path, strings.TrimSpace(string(owner)))
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	// The number only serves the message above; the lock does not depend on it.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

// pause waits for d, or less when ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
