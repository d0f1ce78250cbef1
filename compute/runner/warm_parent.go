package runner

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	warmStartLimit  = 30 * time.Second // from the start of a parent until it has loaded its modules
	warmForkLimit   = 5 * time.Second
	warmReportLimit = 100 * time.Millisecond // for the rest of a report after the end of a fork
	maxTaskID       = 256
	// warmSpace makes room for the marks of an attempt: the path of a folder and an ID.
	warmSpace = "FLOWFORGE_WARM_SPACE"
)

// Kinds of forks. One that has time before its program arrives gets ready for it.
const (
	forkNow     = 'n'
	forkWaiting = 'w'
)

// forkGo lets a fork run its program.
const forkGo = 'g'

// warmProgram is the program of a parent. The names of the modules of a plain interpreter are
// taken before anything is imported.
const warmProgram = "import sys; loaded = list(sys.modules); import flowforge._warm; flowforge._warm.main(loaded)"

// warmParent is a Python process that waits for forks. sdk/python/flowforge/_warm.py is its
// program.
type warmParent struct {
	pool        *warmPool
	key         string
	interpreter string
	sdk         string
	env         environ

	ready   chan struct{} // closed when it waits for forks, or err is set
	err     error
	last    time.Time // when it was used; guarded by the pool
	used    int64     // bytes of memory, as last measured; guarded by the pool
	folders map[string]time.Time

	mu      sync.Mutex // held during a fork
	child   *child
	control *net.UnixConn
	retired bool
	spare   *warmChild // waits for a program; nil: none
	running int        // forks with a program
	// packages are the folders of the code packages that the process has compiled.
	packages map[string]bool
}

// open starts the process and waits until it has loaded the modules. A module that cannot
// be shared is left out, and the process starts again.
func (p *warmParent) open(modules []string) error {
	for {
		answer, err := p.launch(modules)
		if err != nil {
			p.retire()
			return err
		}
		if answer.Ready {
			p.folders = make(map[string]time.Time, len(answer.Folders))
			for _, folder := range answer.Folders {
				p.folders[folder] = modified(folder)
			}
			used := p.memory()
			p.pool.mu.Lock()
			p.used = used
			p.pool.mu.Unlock()
			p.pool.logger.Info("A warm Python process is ready.", "interpreter", p.interpreter, "pid", p.child.pid,
				"modules", len(modules), "memory_mib", used>>20)
			return nil
		}
		_ = p.control.Close()
		modules = p.pool.refuse(p, answer.Refused, answer.Reason)
	}
}

// launch starts the process once.
func (p *warmParent) launch(modules []string) (warmAnswer, error) {
	control, theirs, err := socketPair()
	if err != nil {
		return warmAnswer{}, err
	}
	env := maps.Clone(p.env)
	env[warmSpace] = strings.Repeat("-", unix.PathMax+len(taskIDVariable)+maxTaskID)
	logged := &warmLog{pool: p.pool, interpreter: p.interpreter}
	child, err := p.pool.forker.startChildOn(theirs, command{p.interpreter, []string{p.interpreter, "-c", warmProgram}}, env, p.sdk,
		p.pool.buffers, logged.take, logged.take)
	_ = theirs.Close() // the end of the process then ends the stream
	if err != nil {
		_ = control.Close()
		return warmAnswer{}, err
	}
	p.mu.Lock()
	p.child, p.control = child, control
	retired := p.retired
	p.mu.Unlock()
	p.pool.ends.Go(func() { p.await(child, logged) })
	if retired {
		_ = control.Close()
		return warmAnswer{}, errRetired
	}
	_ = control.SetDeadline(time.Now().Add(warmStartLimit))
	if err := sendMessage(control, warmOrder{os.Getpid(), p.env, append([]string{}, modules...)}, nil); err != nil {
		return warmAnswer{}, err
	}
	answer, err := readAnswer(control)
	if err == nil && !answer.Ready && answer.Refused == "" {
		err = errors.New(answer.Error)
	}
	if err != nil {
		child.signal(syscall.SIGKILL)
		return warmAnswer{}, fmt.Errorf("%w: %s", err, logged.last())
	}
	return answer, nil
}

// await waits for the end of the process.
func (p *warmParent) await(child *child, logged *warmLog) {
	status, err := child.wait(func() {})
	p.mu.Lock()
	expected := p.retired || p.child != child
	p.mu.Unlock()
	if expected {
		return
	}
	select {
	case <-p.ready:
	default:
		return // open reports it
	}
	p.pool.logger.Warn("A warm Python process ended unexpectedly.", "interpreter", p.interpreter, "pid", child.pid,
		"code", status.code, "error", err, "output", logged.last())
	p.retire() // ends the fork that waits
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	if p.pool.parents[p.key] == p {
		delete(p.pool.parents, p.key)
	}
}

// retire ends the process; its forks continue.
func (p *warmParent) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retired = true
	if p.child != nil {
		_ = p.control.Close()
		p.child.signal(syscall.SIGKILL)
	}
	if spare := p.spare; spare != nil {
		p.spare = nil
		p.pool.ends.Go(spare.abandon)
	}
}

// outdated reports whether packages were installed or removed since the start.
func (p *warmParent) outdated() bool {
	select {
	case <-p.ready:
	default:
		return false
	}
	for folder, at := range p.folders {
		if !modified(folder).Equal(at) {
			return true
		}
	}
	return false
}

func modified(folder string) time.Time {
	info, err := os.Stat(folder)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// memory returns the share of the process of the machine's memory in bytes.
func (p *warmParent) memory() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child == nil || !p.child.alive() {
		return 0
	}
	var sum int64
	if stat, ok := readStat(p.child.pid); ok {
		sum = shareOf(stat)
	}
	if p.spare != nil {
		if stat, ok := readStat(p.spare.pid); ok {
			sum += shareOf(stat)
		}
	}
	return sum
}

// warmChild is a fork that runs a program.
type warmChild struct {
	*process
	outputs [2]*os.File
	parent  *warmParent
	socket  *net.UnixConn
}

// fork hands a program to a fork of the process: to the one that waits, if there is one.
// Another is made for the next program in the meantime, unless forks occupy all processors.
func (p *warmParent) fork(program *pythonProgram) (*warmChild, error) {
	p.mu.Lock()
	c, err := p.takeSpare(), error(nil)
	if c == nil {
		if c, err = p.split(forkNow); err == nil {
			p.running++
		}
	}
	p.mu.Unlock()
	if err != nil {
		if !errors.Is(err, errRetired) {
			p.pool.drop(p, "it does not fork")
		}
		return nil, err
	}
	if err := p.hand(c, program); err != nil {
		return nil, err
	}
	return c, nil
}

// takeSpare returns the fork that waits, or nil; it requires the lock.
func (p *warmParent) takeSpare() *warmChild {
	c := p.spare
	if c != nil {
		p.spare = nil
		p.running++
	}
	return c
}

// hand hands a program to a fork, and prepares the next fork. A fork that rejects it ends.
func (p *warmParent) hand(c *warmChild, program *pythonProgram) error {
	if err := c.hand(program); err != nil {
		c.abandon()
		p.release()
		return err
	}
	p.pool.ends.Go(func() { p.prepare(program.code) })
	return nil
}

// prepare makes a fork for the next program, after the process has compiled the code package that
// the next program probably has.
func (p *warmParent) prepare(code string) {
	p.mu.Lock()
	err := p.compile(code)
	if err == nil && p.spare == nil && p.running < runtime.NumCPU() {
		p.spare, err = p.split(forkWaiting)
	}
	p.mu.Unlock()
	if err != nil && !errors.Is(err, errRetired) {
		p.pool.drop(p, "it does not fork: "+err.Error())
	}
}

// release counts the end of a fork.
func (p *warmParent) release() {
	p.mu.Lock()
	p.running--
	p.mu.Unlock()
}

// abandon ends a fork that runs no program.
func (c *warmChild) abandon() {
	c.signal(syscall.SIGKILL)
	_, _ = c.wait()
	_ = c.socket.Close()
}

// split makes the process fork; it requires the lock.
func (p *warmParent) split(kind byte) (*warmChild, error) {
	if p.retired {
		return nil, errRetired
	}
	socket, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	_ = socket.SetDeadline(time.Now().Add(warmForkLimit))
	made, err := p.splitOn(kind, socket, theirs)
	_ = theirs.Close()
	if err != nil {
		_ = socket.Close()
		return nil, err
	}
	return &warmChild{process: made, parent: p, socket: socket}, nil
}

// splitOn makes the process fork. The fork is a child of this process, which must not take it for
// an orphan of an attempt in the meantime.
func (p *warmParent) splitOn(kind byte, socket *net.UnixConn, theirs *os.File) (*process, error) {
	f := p.pool.forker
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = p.control.SetDeadline(time.Now().Add(warmForkLimit))
	if err := sendFiles(p.control, []byte{kind}, theirs); err != nil {
		return nil, fmt.Errorf("request a fork: %w", err)
	}
	_ = theirs.Close()
	answer, err := readAnswer(p.control)
	if err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	if err != nil {
		return nil, fmt.Errorf("request a fork: %w", err)
	}
	if answer.Pid == 0 { // the parent does not know the second of two forks
		if answer, err = readAnswer(socket); err != nil {
			return nil, fmt.Errorf("a fork is not responding: %w", err)
		}
	}
	if err := unix.Waitid(unix.P_PID, answer.Pid, nil, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil); err != nil {
		return nil, fmt.Errorf("the fork %d is not a child of the runner: %w", answer.Pid, err)
	}
	_ = unix.Setpgid(answer.Pid, answer.Pid) // the fork may not have done it yet
	pidfd, err := unix.PidfdOpen(answer.Pid, 0)
	if err != nil {
		pidfd = -1
	}
	f.pids[answer.Pid] = struct{}{}
	made := newProcess(f, answer.Pid, pidfd)
	made.forked = true
	return made, nil
}

// hand sends the program to the fork and waits until it is ready to run it.
func (c *warmChild) hand(p *pythonProgram) error {
	var ends [2]int
	for i := range ends {
		var err error
		if c.outputs[i], ends[i], err = outputPipe(); err != nil {
			closeFDs(ends[:i])
			closeFiles(c.outputs[:i])
			return err
		}
	}
	files := []*os.File{c.parent.pool.forker.stdin, os.NewFile(uintptr(ends[0]), "stdout"), os.NewFile(uintptr(ends[1]), "stderr")}
	defer closeFiles(files[1:])
	_ = c.socket.SetDeadline(time.Now().Add(warmForkLimit))
	request := warmRequest{p.interpreter, p.script, append([]string{}, p.arguments...), p.folder, p.env}
	if err := c.offer(request, files); err != nil {
		closeFiles(c.outputs[:])
		return fmt.Errorf("a fork rejected the program: %w", err)
	}
	return nil
}

// offer sends the program to the fork and waits until it is ready to run it. It runs it after
// forkGo, and ends if the socket is closed first: a program whose fork answered too late runs in
// another process.
func (c *warmChild) offer(request warmRequest, files []*os.File) error {
	if err := sendMessage(c.socket, request, files); err != nil {
		return err
	}
	answer, err := readAnswer(c.socket)
	if err == nil && !answer.Started {
		err = errors.New(answer.Error)
	}
	return err
}

// report learns from the fork which modules it imported; it is called after its end.
func (c *warmChild) report() {
	defer c.socket.Close()
	c.parent.release()
	_ = c.socket.SetDeadline(time.Now().Add(warmReportLimit))
	if answer, err := readAnswer(c.socket); err == nil && len(answer.Modules) > 0 {
		c.parent.pool.learn(c.parent, answer.Modules)
	}
}
