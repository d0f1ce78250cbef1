package runner

import (
	"sync"
	"time"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// sharesBudget bounds the fraction of time that is spent on reading the memory shares of
// an attempt: after a reading that takes one second, the next follows twenty seconds
// later.
const sharesBudget = 20

// earlySamples returns when an attempt is measured before the first regular sample: the
// kernel's own record of a short command is useless because it begins with the high-water
// mark of the runner (vfork).
func earlySamples() []time.Duration {
	return []time.Duration{0, 20 * time.Millisecond, 80 * time.Millisecond, 300 * time.Millisecond}
}

// gauge measures the memory of an attempt.
type gauge struct {
	mu   sync.Mutex
	peak int64     // bytes
	last int64     // result of the last reading of shares
	next time.Time // when shares may be read again
}

// measure returns the memory that processes use, and whether it exceeds limit (0: none).
// It uses the resident sizes where they suffice, and reads shares for a decision or a
// peak that they cannot determine, and with exact.
func (g *gauge) measure(processes []processStat, limit int64, exact bool) (used int64, over bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	used = residentOf(processes)
	over = limit > 0 && used > limit
	if over || len(processes) > 1 && (exact || used > g.peak) {
		begin := time.Now()
		if begin.Before(g.next) {
			return min(used, g.last), false
		}
		used = sharesOf(processes)
		took := time.Since(begin)
		g.last, g.next = used, begin.Add(took*sharesBudget)
		over = limit > 0 && used > limit
	}
	g.peak = max(g.peak, used)
	return used, over
}

func (g *gauge) highest() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.peak
}

// sample measures the running attempts, and reports them if beating, and their metrics if
// measuring.
func (s *Supervisor) sample(now time.Time, beating, measuring bool) {
	running := make(map[*attempt]*child)
	roots := make(map[string]int)
	for _, a := range s.all() {
		if a.ended.Load() {
			continue
		}
		// Commands are listed before processes are read: a command that starts in the
		// meantime is measured the next time.
		running[a] = a.command()
		if running[a] != nil {
			roots[a.spec.TaskId] = running[a].pid
		}
	}
	if len(running) == 0 {
		return
	}
	var adopted []int
	if s.config.OwnProcess {
		adopted = s.forker.adopted()
	}
	processes := s.processes.scan(roots, adopted)
	for a, child := range running {
		var used taskUsage
		if child != nil {
			used = a.use(child, processes[a.spec.TaskId], beating || measuring)
		}
		if child != nil && measuring && !a.over.Load() {
			s.recordUse(a, used, now)
		}
		if beating && a.gang.reports() {
			s.reporter.update(a.box, func() {
				a.box.heartbeat = &flowforgev1.Heartbeat{
					Timestamp: now.UnixMilli(), CpuSeconds: used.cpu.Seconds(), RssBytes: used.memory,
				}
			})
		}
	}
}

// command returns the command of the attempt; nil before it starts.
func (a *attempt) command() *child {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.child
}

// use measures the processes of the attempt, and stops it when they exceed the memory
// limit.
func (a *attempt) use(child *child, processes []processStat, exact bool) taskUsage {
	if !child.alive() {
		return taskUsage{} // another process may have reused the number of its command
	}
	var used taskUsage
	for _, p := range processes {
		used.cpu += p.cpu
	}
	limit := a.spec.MemoryLimitMib << 20
	var over bool
	if used.memory, over = a.gauge.measure(processes, limit, exact); over {
		a.stop(memoryError{used.memory, limit}, 0)
	}
	return used
}

// sampleEarly measures the command a few times before the first regular sample, until
// stop is called.
func (a *attempt) sampleEarly(child *child) (stop func()) {
	delays := earlySamples()
	var mu sync.Mutex
	var timer *time.Timer
	ended := false
	var next func()
	next = func() {
		a.use(child, descendants(child.pid), false)
		mu.Lock()
		defer mu.Unlock()
		if delays = delays[1:]; len(delays) > 0 && !ended {
			timer = time.AfterFunc(delays[0], next)
		}
	}
	if child.forked { // the kernel's record of it is exact
		mu.Lock()
		delays = delays[1:]
		timer = time.AfterFunc(delays[0], next)
		mu.Unlock()
	} else {
		next()
	}
	return func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
		if timer != nil {
			timer.Stop()
		}
	}
}
