package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/sdk"
)

const (
	defaultGrace     = 10 * time.Second
	defaultHeartbeat = 5 * time.Second
	cacheFolder      = "cache"
	// killLimit is how long a process may take to end after SIGKILL.
	killLimit = 2 * time.Second
	// deliverAtShutdown is how long a shutdown waits for the server to accept results.
	deliverAtShutdown = 2 * time.Second
)

// Config configures a supervisor. Dir and Server are required.
type Config struct {
	Dir        string   // absolute; everything the runner keeps
	Server     Endpoint // receives the reports
	Version    string   // of the build
	Host       string
	PodName    string   // of the runner; empty outside of a pod
	Machine    string   // name of the runner's machine
	Environ    []string // the process environment; tasks inherit a few of its variables
	Python     string   // the interpreter; "": python3 on PATH
	Executable string   // the program behind the command "flowforge" in a task
	Heartbeat  time.Duration
	SDK        string        // folder with the Python package; "": the runner unpacks its own
	Pod        *Pod          // nil: the machine is shared and persistent
	SaveEvery  time.Duration // interval between checks of a checkpoint folder, in pods
	SampleUse  time.Duration // interval of the resource usage metrics
	MemoryDir  string        // an in-memory file system for the MEMORY channel; "": none
	// OwnProcess indicates that this process belongs to the runner alone: it adopts and reaps
	// every process that escapes from its tasks.
	OwnProcess bool
	Warm       Warm // needs OwnProcess
	Logger     *slog.Logger

	warm *warmPool // of a pod that runs several attempts; nil: the supervisor's own, or none
}

// errClosing rejects attempts while the supervisor shuts down.
var errClosing = errors.New("the runner is shutting down")

// Supervisor runs attempts. Its methods may be called at any time from any goroutine.
type Supervisor struct {
	config       Config
	logger       *slog.Logger
	server       *server
	reporter     *reporter
	forker       *forker
	blobs        *blobCache
	packages     *packageCache
	environments *environments
	requester    *requester
	pathLocks    pathLocks
	memory       *memoryPool
	base         environ
	slots        *slots
	buffers      sync.Pool
	cgroup       cgroup
	devices      *gpuWatch
	processes    processTable
	warm         *warmPool    // nil: none
	commands     atomic.Int64 // that run

	ctx    context.Context // cancelled when deliveries end
	cancel context.CancelFunc
	tasks  sync.WaitGroup // background goroutines and attempts

	mu       sync.Mutex
	attempts map[string]*attempt
	prepared map[string]*attempt // attempts whose start is expected
	recent   recentIDs
	closing  bool
	changed  chan struct{} // closed and replaced when an attempt ends or is delivered
}

// New returns a running supervisor. It kills the processes that an earlier supervisor of
// the same folder left, and delivers its remaining results.
func New(config Config) (*Supervisor, error) {
	if config.Heartbeat == 0 {
		config.Heartbeat = defaultHeartbeat
	}
	if config.SaveEvery == 0 {
		config.SaveEvery = defaultSaveEvery
	}
	if config.SampleUse == 0 {
		config.SampleUse = defaultSampleUse
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	dir, err := filepath.Abs(config.Dir)
	if err != nil {
		return nil, fmt.Errorf("runner folder: %w", err)
	}
	config.Dir = dir
	for _, folder := range []string{attemptsFolder, checkpointsFolder, cacheFolder} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			return nil, fmt.Errorf("runner folder: %w", err)
		}
	}
	forker, err := config.forker()
	if err != nil {
		return nil, err
	}
	s := &Supervisor{
		config: config, logger: config.Logger,
		server:    config.Server.connect(),
		forker:    forker,
		requester: newRequester(),
		base:      baseEnvironment(config.Environ),
		attempts:  make(map[string]*attempt),
		prepared:  make(map[string]*attempt),
		changed:   make(chan struct{}),
		cgroup:    readCgroup(),
	}
	if config.Pod != nil {
		s.base = podEnvironment(config.Environ, config.Pod)
	}
	s.devices = newGPUWatch(s)
	s.buffers.New = func() any { return new([readBuffer]byte) }
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if s.warm = config.warm; s.warm == nil && config.Pod == nil && config.OwnProcess && config.Warm.Parents > 0 {
		s.warm = newWarmPool(forker, config.Warm, &s.buffers, s.logger)
	}
	s.reporter = newReporter(s.server.deliver(), s.logger, s.persistAll)
	cache := filepath.Join(dir, cacheFolder)
	s.blobs = newBlobCache(filepath.Join(cache, "blobs"), s.server)
	s.memory = newMemoryPool(config.MemoryDir, dir)
	s.packages = &packageCache{dir: filepath.Join(cache, "packages"), blobs: s.blobs}
	s.environments = &environments{
		dir: filepath.Join(cache, "venvs"), installer: installerEnvironment(config.Environ, s.base),
		python: config.Python, run: s.runTool, busy: make(map[string]chan struct{}),
	}
	python := config.SDK
	if python == "" {
		if python, err = UnpackSDK(filepath.Join(cache, "sdk")); err != nil {
			s.closeProcesses()
			return nil, err
		}
	}
	s.slots = newSlots(dir, python)
	if config.OwnProcess {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			s.logger.Warn("Processes that escape from their task cannot be adopted.", "error", err)
		}
		if n := killLeftovers(dir); n > 0 {
			s.logger.Warn("Killed processes of an earlier runner.", "processes", n)
		}
	}
	s.recover()
	s.tasks.Go(func() { s.reporter.run(s.ctx) })
	s.tasks.Go(s.watch)
	return s, nil
}

// UnpackSDK replaces dir with the Python package and returns dir.
func UnpackSDK(dir string) (string, error) {
	source, err := fs.Sub(sdk.Python, "python")
	if err != nil {
		return "", fmt.Errorf("python sdk: %w", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", fmt.Errorf("python sdk: %w", err)
	}
	if err := os.CopyFS(dir, source); err != nil {
		return "", fmt.Errorf("python sdk: %w", err)
	}
	return dir, nil
}

// Start starts an attempt. It is idempotent: starting a known or recently delivered
// attempt succeeds and does nothing.
func (s *Supervisor) Start(spec *flowforgev1.AttemptSpec) error {
	_, err := s.start(spec)
	return err
}

// start returns the attempt; nil when it was delivered recently.
func (s *Supervisor) start(spec *flowforgev1.AttemptSpec) (*attempt, error) {
	if !plainName(spec.GetTaskId()) {
		return nil, fmt.Errorf("%q is not a task ID", spec.GetTaskId())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil, errClosing
	}
	if known := s.attempts[spec.TaskId]; known != nil || s.recent.has(spec.TaskId) {
		return known, nil
	}
	a := s.takePrepared(spec)
	if a == nil {
		a = s.newAttempt(spec)
		s.tasks.Go(a.run)
	}
	s.attempts[spec.TaskId] = a
	return a, nil
}

func (s *Supervisor) newAttempt(spec *flowforgev1.AttemptSpec) *attempt {
	a := &attempt{s: s, spec: spec, delivered: make(chan struct{})}
	a.inputs.a, a.absolute.a, a.secrets.a, a.delivery.a = a, a, a, a
	a.ctx, a.cancel = context.WithCancelCause(s.ctx)
	a.box = &outbox{taskID: spec.TaskId, token: spec.Token, pod: s.config.PodName, machine: s.config.Machine}
	a.box.log = newLogQueue(spec.TaskId, spec.Token, s.reporter.away.Load, func() { s.reporter.logged(a.box) })
	a.box.cancel = func() { a.stop(errCancelled, a.grace()) }
	a.box.preempt, a.box.answered = a.preempt, a.answered
	a.box.delivered = func() { s.forget(a) }
	a.gang = newGang(s.config.Pod, spec)
	return a
}

// forget is called when the server has accepted everything of a.
func (s *Supervisor) forget(a *attempt) {
	s.mu.Lock()
	if s.attempts[a.spec.TaskId] == a {
		delete(s.attempts, a.spec.TaskId)
		s.recent.add(a.spec.TaskId)
	}
	close(a.delivered) // before announce, because the goroutines that it wakes read it
	s.announce()
	s.mu.Unlock()
	a.box.log.close()
	a.cancel(nil)
}

// announce wakes the goroutines that wait for attempts; it requires the lock.
func (s *Supervisor) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Preempt asks attempts to yield: they may take the grace period of their spec to save a
// checkpoint, and end as preempted.
func (s *Supervisor) Preempt(taskIDs []string) {
	for _, id := range taskIDs {
		s.mu.Lock()
		a := s.attempts[id]
		s.mu.Unlock()
		if a != nil {
			a.preempt()
		}
	}
}

// Stop asks attempts to end as cancelled. With grace 0, each attempt uses its own grace
// period.
func (s *Supervisor) Stop(taskIDs []string, grace time.Duration) {
	for _, id := range taskIDs {
		s.mu.Lock()
		a := s.attempts[id]
		s.mu.Unlock()
		if a == nil {
			continue
		}
		own := grace
		if own <= 0 {
			own = a.grace()
		}
		a.stop(errCancelled, own)
	}
}

// List returns the attempts that run or whose result is not delivered.
func (s *Supervisor) List() []*flowforgev1.AttemptStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*flowforgev1.AttemptStatus, 0, len(s.attempts))
	for id, a := range s.attempts {
		list = append(list, &flowforgev1.AttemptStatus{TaskId: id, Finished: a.ended.Load()})
	}
	return list
}

// counts returns how many attempts have not ended and how many are not delivered.
func (s *Supervisor) counts() (running, undelivered int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.attempts {
		if !a.ended.Load() {
			running++
		}
	}
	return running, len(s.attempts)
}

func (s *Supervisor) all() []*attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*attempt, 0, len(s.attempts))
	for _, a := range s.attempts {
		all = append(all, a)
	}
	return all
}

// persistAll writes every undelivered result and log to disk.
func (s *Supervisor) persistAll() {
	for _, a := range s.all() {
		a.delivery.persist()
	}
}

// Shutdown ends all attempts as interrupted, waits briefly for the server to accept the
// results, keeps the remaining results on disk, and closes the supervisor.
func (s *Supervisor) Shutdown(grace time.Duration) {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	for _, a := range s.all() {
		if !a.ended.Load() {
			a.stop(errInterrupted, grace)
		}
	}
	s.await(grace+killLimit, func() bool { running, _ := s.counts(); return running == 0 })
	s.await(deliverAtShutdown, func() bool { _, undelivered := s.counts(); return undelivered == 0 })
	s.Close()
}

// await returns when done returns true, at the latest after limit.
func (s *Supervisor) await(limit time.Duration, done func() bool) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if done() {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			return
		}
	}
}

// Close ends the supervisor at once: it kills all processes and leaves undelivered
// results on disk.
func (s *Supervisor) Close() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	for _, a := range s.all() {
		if !a.ended.Load() {
			a.stop(errInterrupted, 0)
		}
		a.box.log.abandon()
	}
	s.await(killLimit, func() bool { running, _ := s.counts(); return running == 0 })
	s.persistAll()
	s.discardAll()
	s.cancel()
	s.tasks.Wait()
	if s.config.OwnProcess {
		s.forker.sweepOrphans(s.processes.ownerOf, func(string) bool { return true })
	}
	for _, a := range s.all() {
		a.box.log.close()
	}
	s.closeProcesses()
	s.memory.close()
	s.server.close()
	s.requester.client.CloseIdleConnections()
}

// forker returns the starter of processes.
func (c *Config) forker() (*forker, error) {
	if c.warm != nil {
		return c.warm.forker, nil
	}
	return newForker()
}

// closeProcesses ends what only this supervisor uses.
func (s *Supervisor) closeProcesses() {
	if s.config.warm == nil {
		s.warm.close()
		s.forker.close()
	}
}
