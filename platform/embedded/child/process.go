// Package child runs the engines behind the zero-configuration default as child
// processes: one owner per directory, no survivors, restart when one dies.
package child

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a started child. The kernel signals it when this process dies.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// Start starts cmd in its own process group, because this process handles Ctrl-C
// itself. The kernel sends it deathSignal when this process dies.
func Start(cmd *exec.Cmd, deathSignal syscall.Signal) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = deathSignal
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// Pdeathsig watches the thread that forked, so that thread must live as long as the child.
		// It is unlocked at the end: a goroutine that ends locked ends its thread, and with it other
		// processes that this thread has started.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns how the process ended; call it after Done is closed.
func (p *Process) Err() error {
	if p.err == nil {
		return errors.New("exit status 0")
	}
	return p.err
}

// Step is one attempt to stop a process: a signal and a grace period.
type Step struct {
	Signal syscall.Signal
	Grace  time.Duration
}

// Stop tries the steps in order and returns when the process has ended. The
// last step should be a SIGKILL.
func (p *Process) Stop(steps ...Step) error {
	for _, step := range steps {
		// An error means that it has already ended, which Done reports.
		_ = p.cmd.Process.Signal(step.Signal)
		timer := time.NewTimer(step.Grace)
		select {
		case <-p.done:
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
	return fmt.Errorf("process %d does not stop", p.PID())
}
