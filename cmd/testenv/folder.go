package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/flowforge/flowforge/platform/embedded/child"
)

// folder is the folder of the engines. Go keeps the result of a package's tests as long as the
// environment variables that they read have the same values. The addresses of the engines contain this
// path, so it is the same in every run.
type folder struct {
	path string
	lock *os.File
}

// openFolder returns the first numbered folder in parent that no running testenv uses, and empties it.
func openFolder(ctx context.Context, parent string) (*folder, error) {
	for n := 1; ; n++ {
		path := filepath.Join(parent, fmt.Sprintf("flowforge-testenv-%d-%d", os.Geteuid(), n))
		lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			f := &folder{path, lock}
			if err := f.create(ctx); err != nil {
				return nil, errors.Join(err, lock.Close())
			}
			return f, nil
		}
		if err = errors.Join(err, lock.Close()); !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", lock.Name(), err)
		}
	}
}

// create removes what a killed run left, with its engines: at its end, PostgreSQL removes a socket by
// its path, even if a new server listens there.
func (f *folder) create(ctx context.Context) error {
	for _, data := range []string{f.postgres(), f.clickhouse()} {
		err := child.Reap(ctx, filepath.Join(data, "data"), 0,
			child.Step{Signal: syscall.SIGQUIT, Grace: 2 * time.Second}, child.Step{Signal: syscall.SIGKILL, Grace: 5 * time.Second})
		if err != nil {
			return err
		}
	}
	if err := os.RemoveAll(f.path); err != nil {
		return err
	}
	return errors.Join(os.Mkdir(f.path, 0o755), os.Chmod(f.path, 0o755)) // PostgreSQL may run as another account
}

func (f *folder) postgres() string   { return filepath.Join(f.path, "postgres") }
func (f *folder) clickhouse() string { return filepath.Join(f.path, "clickhouse") }

// remove removes the folder. The file of the lock stays: another testenv may have opened it.
func (f *folder) remove() error {
	return errors.Join(os.RemoveAll(f.path), f.lock.Close())
}
