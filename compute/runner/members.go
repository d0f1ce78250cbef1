package runner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// An attempt may have several members, which depend on each other: in a pod each is a
// container, on one machine each is a process. One member, the attempt's own process, is
// the leader. The others report to it through files in a shared folder.

// Member is a command of an attempt that has several.
type Member struct {
	Name    string            `json:"name"`
	After   []string          `json:"after,omitempty"` // members that must succeed first
	Command []string          `json:"command"`
	Image   bool              `json:"image,omitempty"` // Command holds arguments for the image's default command
	Env     map[string]string `json:"env,omitempty"`   // in addition to that of the process
	Order   []string          `json:"order"`           // names of the container's variables; nil: nothing is expanded
	Folder  string            `json:"folder,omitempty"`
	Retries int               `json:"retries,omitempty"`
	Pause   time.Duration     `json:"pause,omitempty"` // before each retry
}

// Members lists the members that a process runs.
type Members struct {
	Dir  string   `json:"dir"`           // shared by all; "": only this process runs members
	Run  []Member `json:"run"`           // by this process
	All  []string `json:"all,omitempty"` // names of all members; set for the leader
	Main string   `json:"main,omitempty"`
	Lead bool     `json:"lead,omitempty"`
}

const (
	memberBegin  = "begin"  // a file that exists when the members may start
	memberResult = ".exit"  // ends the names of files with exit codes
	memberAlive  = ".alive" // ends the names of heartbeat files
	memberLog    = ".log"
	memberPoll   = 100 * time.Millisecond
	memberBeat   = 2 * time.Second
	memberDead   = 30 * time.Second // without a heartbeat
	// memberSkipped is the result of a member whose dependencies failed.
	memberSkipped = -1
)

// RunMembers runs members and returns the exit code of the process: for the leader 0 when
// all have succeeded, else the code of the main member or of the first that failed. Only
// the main member writes to stdout. environ is the environment of the process.
func RunMembers(ctx context.Context, m Members, environ []string, stdout, stderr io.Writer) (int, error) {
	if m.Dir == "" {
		dir, err := os.MkdirTemp("", "flowforge-members-")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
		m.Dir = dir
	}
	c := &containers{Members: m, stdout: stdout, stderr: &lockedWriter{to: stderr}}
	var err error
	if c.environ, c.image, err = extractImageCommand(environ); err != nil {
		return 0, err
	}
	if m.Lead {
		if err := os.WriteFile(filepath.Join(m.Dir, memberBegin), nil, 0o644); err != nil {
			return 0, err
		}
	}
	tails := c.tail(ctx)
	var group sync.WaitGroup
	codes := make([]int, len(m.Run))
	for i, one := range m.Run {
		group.Go(func() { codes[i] = c.member(ctx, one) })
	}
	group.Wait()
	if !m.Lead {
		return max(codes[0], 0), nil
	}
	code := c.awaitAll(ctx)
	tails()
	return code, ctx.Err()
}

// containers are the members that one process runs.
type containers struct {
	Members
	environ []string
	image   *ImageCommand
	stdout  io.Writer
	stderr  *lockedWriter
}

// member runs one member after its dependencies have succeeded, and writes its result.
func (c *containers) member(ctx context.Context, m Member) int {
	alive, stop := context.WithCancel(ctx)
	defer stop()
	go c.heartbeat(alive, m.Name)
	code := memberSkipped
	if c.await(ctx, m) {
		for try := 0; ; try++ {
			code = c.run(ctx, m)
			if code == 0 || try >= m.Retries || !sleepContext(ctx, m.Pause) {
				break
			}
		}
	}
	fresh := filepath.Join(c.Dir, m.Name+".fresh")
	err := os.WriteFile(fresh, []byte(strconv.Itoa(code)), 0o644)
	if err == nil {
		err = os.Rename(fresh, filepath.Join(c.Dir, m.Name+memberResult))
	}
	if err != nil {
		c.logMember(m.Name, "its result could not be written: "+err.Error())
	}
	return code
}

// heartbeat records at intervals that a member is alive.
func (c *containers) heartbeat(ctx context.Context, name string) {
	ticker := time.NewTicker(memberBeat)
	defer ticker.Stop()
	for {
		_ = os.WriteFile(filepath.Join(c.Dir, name+memberAlive), []byte(time.Now().Format(time.RFC3339Nano)), 0o644)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// await waits for the start signal and for the dependencies of m; it returns false when
// one failed.
func (c *containers) await(ctx context.Context, m Member) bool {
	started := func() bool {
		_, err := os.Stat(filepath.Join(c.Dir, memberBegin))
		return err == nil
	}
	for !started() {
		if !sleepContext(ctx, memberPoll) {
			return false
		}
	}
	for _, name := range m.After {
		code, ok := c.result(ctx, name)
		if !ok || code != 0 {
			return false
		}
	}
	return true
}

// sleepContext waits for d; it returns false when ctx is cancelled first.
func sleepContext(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// result waits for the result of a member; it returns false when ctx is cancelled first.
// A member that has stopped sending heartbeats counts as killed.
func (c *containers) result(ctx context.Context, name string) (int, bool) {
	for {
		data, err := os.ReadFile(filepath.Join(c.Dir, name+memberResult))
		if err == nil {
			code, err := strconv.Atoi(string(data))
			return code, err == nil
		}
		if info, err := os.Stat(filepath.Join(c.Dir, name+memberAlive)); err == nil && time.Since(info.ModTime()) > memberDead {
			c.logMember(name, "it was killed.")
			return 128 + int(syscall.SIGKILL), true
		}
		if !sleepContext(ctx, memberPoll) {
			return 0, false
		}
	}
}

// run runs the command of a member once.
func (c *containers) run(ctx context.Context, m Member) int {
	env := environOf(c.environ)
	maps.Copy(env, m.Env)
	if m.Order != nil {
		env.expandVariables(m.Order, m.Env)
		m.Command = env.expandAll(m.Command)
	}
	if m.Image {
		argv, err := c.image.with(m.Command)
		if err != nil {
			c.logMember(m.Name, err.Error())
			return failedMember
		}
		m.Command = argv
	}
	if len(m.Command) == 0 {
		return 0
	}
	log, err := os.OpenFile(filepath.Join(c.Dir, m.Name+memberLog), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		c.logMember(m.Name, err.Error())
		return failedMember
	}
	defer log.Close()
	command := exec.CommandContext(ctx, m.Command[0], m.Command[1:]...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = time.Minute // the attempt's own grace period is shorter and ends with SIGKILL
	command.Dir, command.Env = m.Folder, env.list()
	command.Stdout, command.Stderr = io.MultiWriter(log, c.stderr), io.MultiWriter(log, c.stderr)
	if c.Lead {
		command.Stdout, command.Stderr = log, log
		if m.Name == c.Main {
			command.Stdout, command.Stderr = c.stdout, c.stderr
		}
	}
	err = command.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal())
		}
		return exit.ExitCode()
	}
	if err != nil {
		c.logMember(m.Name, err.Error())
		return failedMember
	}
	return 0
}

// failedMember is the result of a member whose command could not be started, as in a
// shell.
const failedMember = 127

// logMember writes a line about a member to the log that the leader reads.
func (c *containers) logMember(name, line string) {
	fmt.Fprintf(c.stderr, "[%s] %s\n", name, line)
	if !c.Lead {
		if log, err := os.OpenFile(filepath.Join(c.Dir, name+memberLog), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err == nil {
			fmt.Fprintln(log, line)
			_ = log.Close()
		}
	}
}

// awaitAll waits for the results of all members and reports those that failed.
func (c *containers) awaitAll(ctx context.Context) int {
	sum, main := 0, 0
	for _, name := range c.All {
		code, ok := c.result(ctx, name)
		switch {
		case !ok:
			return failedMember
		case code == memberSkipped:
			c.logMember(name, "did not run because a dependency failed.")
			continue
		case code == 0:
			continue
		}
		c.logMember(name, fmt.Sprintf("exited with code %d.", code))
		if name == c.Main {
			main = code
		}
		if sum == 0 {
			sum = code
		}
	}
	if main != 0 {
		return main
	}
	return sum
}

// tail copies what the other members write, line by line. The returned function ends this
// after copying the remaining lines.
func (c *containers) tail(ctx context.Context) func() {
	done := make(chan struct{})
	var group sync.WaitGroup
	for _, name := range c.All {
		if name == c.Main && slices.ContainsFunc(c.Run, func(m Member) bool { return m.Name == name }) {
			continue
		}
		group.Go(func() { c.follow(ctx, name, done) })
	}
	return func() { close(done); group.Wait() }
}

// follow copies the lines of a member's log until done, and then the remaining lines.
func (c *containers) follow(ctx context.Context, name string, done <-chan struct{}) {
	path := filepath.Join(c.Dir, name+memberLog)
	var file *os.File
	var rest strings.Builder
	reader := bufio.NewReader(nil)
	for last := false; ; {
		if file == nil {
			opened, err := os.Open(path)
			if err == nil {
				file = opened
				reader.Reset(file)
			} else if !errors.Is(err, fs.ErrNotExist) {
				return
			}
		}
		for file != nil {
			line, err := reader.ReadString('\n')
			rest.WriteString(line)
			if err != nil {
				break
			}
			fmt.Fprintf(c.stderr, "[%s] %s", name, rest.String())
			rest.Reset()
		}
		if last || ctx.Err() != nil {
			break
		}
		select {
		case <-done:
			last = true
		case <-ctx.Done():
		case <-time.After(memberPoll):
		}
	}
	if rest.Len() > 0 {
		fmt.Fprintf(c.stderr, "[%s] %s\n", name, rest.String())
	}
	if file != nil {
		_ = file.Close()
	}
}

// lockedWriter lets several goroutines write whole lines.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

// Write writes p under the lock.
func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}
