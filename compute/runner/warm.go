package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	warmIdle         = time.Minute      // after which an unused parent ends
	warmPause        = time.Minute      // between starts of a parent that does not start
	warmMeasure      = 10 * time.Second // between measurements of the parents' memory
	warmEnvironments = 1000             // environments whose modules are remembered
	warmModules      = 5000             // modules that a parent loads
	warmReported     = 2000             // modules of one report that count; the limit of the SDK
	// warmPodShare is the fraction of a pod's memory that its parents may use.
	warmPodShare = 8
)

// Warm bounds the Python processes of which attempts are forks.
type Warm struct {
	Parents   int   // most processes at a time; 0: every attempt starts an interpreter
	MemoryMiB int64 // of all of them
}

var (
	// errFirstUse: an environment with its own variables gets a parent at its second
	// attempt, because the variables of many operators differ for each attempt.
	errFirstUse = errors.New("the environment is new")
	// errWarmFailed: the reason has been logged.
	errWarmFailed = errors.New("no process of this environment can be forked")
	// errRetired: the parent was replaced in the meantime.
	errRetired = errors.New("the parent has ended")
)

// pythonProgram is a script of an attempt with everything that its process needs.
type pythonProgram struct {
	interpreter string
	script      string
	arguments   []string
	folder      string
	env         environ // of the attempt
	shared      environ // the part of it that is the same for many attempts
	sdk         string
	code        string // the folder of the unpacked code package; "": none
	common      bool   // the definition sets no variable
	ownHome     bool   // HOME and TMPDIR belong to the attempt
}

// key identifies the programs that can be forks of the same parent. All variables are part
// of it, because libraries read them when they are imported.
func (p *pythonProgram) key() (string, error) {
	info, err := os.Stat(p.interpreter)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %d %d %q %d\n", p.interpreter, info.Size(), info.ModTime().UnixNano(), p.sdk, os.Getuid())
	for _, name := range slices.Sorted(maps.Keys(p.shared)) {
		if !p.ownHome || name != "HOME" && name != "TMPDIR" {
			fmt.Fprintf(h, "%q=%q\n", name, p.shared[name])
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// pythonProgram returns the program of an attempt that can be a fork; false when it needs
// its own interpreter.
func (a *attempt) pythonProgram(c command, env environ) (pythonProgram, bool) {
	work := a.spec.GetProcess()
	if a.s.warm == nil || a.spec.Fresh || work.GetScript() == "" || work.GetInterpreter() != "python" || strings.HasPrefix(work.GetScript(), "#!") {
		return pythonProgram{}, false
	}
	pod := a.s.config.Pod
	if pod != nil && len(a.spec.Requirements) > 0 {
		return pythonProgram{}, false // every attempt of a pod installs them in its own folder
	}
	p := pythonProgram{
		interpreter: c.path, script: c.argv[1], arguments: c.argv[2:], folder: a.workFolder(), env: env, shared: environ{},
		sdk: a.paths.sdk, code: a.paths.code.source, common: len(a.spec.Env) == 0, ownHome: pod != nil && pod.OwnHome,
	}
	for name, value := range env {
		if !utf8.ValidString(value) {
			return p, false // a request is JSON
		}
		if !strings.HasPrefix(name, "FLOWFORGE_") && name != "TRACEPARENT" {
			p.shared[name] = value
		}
	}
	for _, s := range a.spec.Secrets {
		switch {
		case s.Variable == "":
		case readAtStart(s.Variable):
			return p, false
		default:
			delete(p.shared, s.Variable)
		}
	}
	return p, true
}

// readAtStart reports whether interpreters or loaders read a variable only when they start.
func readAtStart(name string) bool {
	return strings.HasPrefix(name, "PYTHON") || strings.HasPrefix(name, "LD_") || name == "PATH" || name == "HOME" || name == "VIRTUAL_ENV"
}

// warmPool keeps a Python process for each environment. Attempts are forks of it.
type warmPool struct {
	forker  *forker
	logger  *slog.Logger
	buffers *sync.Pool
	limit   Warm
	now     func() time.Time
	ends    sync.WaitGroup // processes and goroutines

	mu       sync.Mutex
	closed   bool
	parents  map[string]*warmParent
	modules  map[string]*environmentModules
	measured time.Time
}

// environmentModules records the modules of an environment, with or without a parent process.
type environmentModules struct {
	used    time.Time
	until   time.Time   // no parent is started before; zero: none has failed
	modules []string    // in the order in which tasks imported them
	refused []string    // packages of which forks cannot be used
	full    bool        // its modules need more memory than parents may use
	next    *warmParent // has more modules and is starting; nil: none
}

// newWarmPool returns an empty pool. A nil pool is valid and starts nothing.
func newWarmPool(f *forker, limit Warm, buffers *sync.Pool, logger *slog.Logger) *warmPool {
	return &warmPool{
		forker: f, logger: logger, buffers: buffers, limit: limit, now: time.Now,
		parents: make(map[string]*warmParent), modules: make(map[string]*environmentModules),
	}
}

// start runs a program as a fork of the parent of its environment.
func (w *warmPool) start(ctx context.Context, p *pythonProgram) (*warmChild, error) {
	key, err := p.key()
	if err != nil {
		return nil, err
	}
	for {
		parent, err := w.parent(ctx, key, p)
		if err != nil {
			return nil, err
		}
		child, err := parent.fork(p)
		if errors.Is(err, errRetired) {
			continue
		}
		if err == nil {
			err = child.run()
		}
		if err != nil {
			return nil, err
		}
		return child, nil
	}
}

// parent returns the parent of an environment when it is ready; it starts one if there is
// none.
func (w *warmPool) parent(ctx context.Context, key string, p *pythonProgram) (*warmParent, error) {
	parent, err := w.pick(key, p)
	if err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-parent.ready:
		return parent, parent.err
	}
}

func (w *warmPool) pick(key string, p *pythonProgram) (*warmParent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	known := w.modules[key] != nil
	l := w.modulesOf(key)
	l.used = now
	if parent := w.parents[key]; parent != nil && !parent.outdated() {
		parent.last = now
		return parent, nil
	}
	switch {
	case w.closed:
		return nil, errForkerClosed
	case now.Before(l.until):
		return nil, errWarmFailed
	case !p.common && !known:
		return nil, errFirstUse
	}
	w.end(key, "its packages have changed")
	for len(w.parents) >= w.limit.Parents {
		w.end(w.oldest(), "it was replaced by another environment")
	}
	parent := w.open(key, p.interpreter, p.sdk, p.shared, l)
	w.parents[key] = parent
	return parent, nil
}

// open starts a parent; it requires the lock.
func (w *warmPool) open(key, interpreter, sdk string, shared environ, l *environmentModules) *warmParent {
	parent := &warmParent{pool: w, key: key, interpreter: interpreter, sdk: sdk, env: shared, last: w.now(), ready: make(chan struct{})}
	modules := slices.Clone(l.modules)
	w.ends.Go(func() {
		defer close(parent.ready)
		if err := parent.open(modules); err != nil {
			w.failed(parent, err)
		}
	})
	return parent
}

// failed records that a parent did not start.
func (w *warmPool) failed(parent *warmParent, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	parent.err = errWarmFailed
	if errors.Is(err, errRetired) { // it was ended while it started
		return
	}
	if w.parents[parent.key] == parent {
		delete(w.parents, parent.key)
	}
	l := w.modulesOf(parent.key)
	l.until = w.now().Add(warmPause)
	if len(l.modules) > 0 { // one of them may be the reason
		l.modules, l.full = nil, true
	}
	if !w.closed {
		w.logger.Warn("No warm Python process can be started; each attempt starts its own interpreter.",
			"interpreter", parent.interpreter, "error", err, "again_in", warmPause)
	}
}

// modulesOf requires the lock.
func (w *warmPool) modulesOf(key string) *environmentModules {
	l := w.modules[key]
	if l == nil {
		if len(w.modules) >= warmEnvironments {
			oldest := slices.MinFunc(slices.Collect(maps.Keys(w.modules)), func(a, b string) int {
				return w.modules[a].used.Compare(w.modules[b].used)
			})
			delete(w.modules, oldest)
		}
		l = &environmentModules{used: w.now()}
		w.modules[key] = l
	}
	return l
}

// oldest returns the environment that has not been used for the longest time.
func (w *warmPool) oldest() string {
	return slices.MinFunc(slices.Collect(maps.Keys(w.parents)), func(a, b string) int {
		return cmp.Or(w.parents[a].last.Compare(w.parents[b].last), strings.Compare(a, b))
	})
}

// end ends the parent of an environment, if it has one; it requires the lock. Its forks
// continue.
func (w *warmPool) end(key, why string) {
	parent := w.parents[key]
	if parent == nil {
		return
	}
	delete(w.parents, key)
	parent.retire()
	w.logger.Info("A warm Python process ends.", "interpreter", parent.interpreter, "reason", why)
}

// drop ends a parent that does not work.
func (w *warmPool) drop(parent *warmParent, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.parents[parent.key] == parent {
		w.end(parent.key, why)
	}
}

// learn records which modules an attempt imported. When there are new ones, a parent that
// has them replaces the present one as soon as it is ready.
func (w *warmPool) learn(parent *warmParent, modules []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.modulesOf(parent.key)
	fresh := slices.DeleteFunc(modules[:min(len(modules), warmReported)], func(name string) bool {
		return l.full || slices.Contains(l.modules, name) || slices.Contains(l.refused, topLevel(name))
	})
	fresh = fresh[:min(len(fresh), warmModules-len(l.modules))]
	l.modules = append(l.modules, fresh...)
	if len(fresh) == 0 || l.next != nil || w.closed || w.parents[parent.key] != parent {
		return
	}
	next := w.open(parent.key, parent.interpreter, parent.sdk, parent.env, l)
	l.next = next
	w.ends.Go(func() {
		<-next.ready
		w.mu.Lock()
		defer w.mu.Unlock()
		l.next = nil
		if next.err != nil || w.closed || w.parents[parent.key] != parent {
			next.retire()
			return
		}
		next.last = parent.last
		w.parents[parent.key] = next
		parent.retire()
	})
}

func topLevel(module string) string {
	name, _, _ := strings.Cut(module, ".")
	return name
}

// refuse removes the modules of a package: a fork of a process with them cannot be used.
func (w *warmPool) refuse(parent *warmParent, module, reason string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.modulesOf(parent.key)
	l.refused = append(l.refused, topLevel(module))
	l.modules = slices.DeleteFunc(l.modules, func(name string) bool { return topLevel(name) == topLevel(module) })
	w.logger.Info("A Python module could not be preloaded.", "module", module, "reason", reason)
	return slices.Clone(l.modules)
}

// close ends all parents and waits for their end.
func (w *warmPool) close() {
	if w == nil {
		return
	}
	w.mu.Lock()
	w.closed = true
	for _, parent := range w.parents {
		parent.retire()
	}
	for _, l := range w.modules {
		if l.next != nil {
			l.next.retire()
		}
	}
	clear(w.parents)
	w.mu.Unlock()
	w.ends.Wait()
}
