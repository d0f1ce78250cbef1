package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/flowforge/flowforge/access/masking"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// runProcess prepares the files and the environment of a process and runs it.
func (a *attempt) runProcess(work *flowforgev1.Process) ending {
	defer a.secrets.drop()
	defer a.inputs.endStreams()
	env, c, err := a.prepare(work)
	if err == nil {
		a.reserve(c, env)
	}
	if !a.gate.await(a.ctx) || context.Cause(a.ctx) != nil {
		a.reserved.discard()
		return stopped(context.Cause(a.ctx), -1)
	}
	if err != nil {
		e := startFailed("The attempt could not be prepared: " + strings.TrimSuffix(err.Error(), ".") + ".")
		if tokenRefused(err) {
			e.class = classToken
		}
		if _, is := errors.AsType[notFoundError](err); is {
			e.code = exitNotFound
		}
		return e
	}
	if err := a.gang.rendezvous(a, env); err != nil {
		if context.Cause(a.ctx) == nil {
			a.cancel(err)
		}
		return stopped(context.Cause(a.ctx), -1)
	}
	return a.execute(c, env)
}

// prepare sets up everything that the command needs.
func (a *attempt) prepare(work *flowforgev1.Process) (environ, command, error) {
	s, spec := a.s, a.spec
	if spec.PackageSha256 != "" {
		if err := s.packages.copyTo(a.ctx, spec.Token, spec.PackageSha256, a.paths.code); err != nil {
			return nil, command{}, err
		}
	}
	if err := a.absolute.hold(); err != nil {
		return nil, command{}, err
	}
	if err := a.absolute.placeScratch(); err != nil {
		return nil, command{}, err
	}
	inputs, err := a.inputs.place()
	if err != nil {
		return nil, command{}, err
	}
	if a.saver != nil {
		if err := a.saver.restore(a.ctx); err != nil {
			return nil, command{}, err
		}
	}
	secrets, err := a.secrets.fetch(a.ctx)
	if err != nil {
		return nil, command{}, err
	}
	if inputs, err = placeSecrets(inputs, spec.Secrets, secrets); err != nil {
		return nil, command{}, err
	}
	if err := rewrite(a.paths.inputs, inputs); err != nil {
		return nil, command{}, err
	}
	env := taskEnvironment(s.base, spec, inputs, a.paths, s.config.Heartbeat)
	env["FLOWFORGE_MACHINE"] = s.config.Machine
	if s.config.PodName != "" {
		env["FLOWFORGE_POD"] = s.config.PodName
	}
	setSecrets(env, spec.Secrets, secrets)
	if len(spec.Requirements) > 0 {
		venv, err := s.environments.ensure(a.ctx, spec.Requirements, a.environmentLine)
		if err != nil {
			return nil, command{}, err
		}
		env["VIRTUAL_ENV"] = venv
		env["PATH"] = filepath.Join(venv, "bin") + string(os.PathListSeparator) + env["PATH"]
	}
	work = expanded(work, env, spec.Env)
	if err := a.passImageCommand(work, env); err != nil {
		return nil, command{}, err
	}
	if work, err = a.imageCommand(work); err != nil {
		return nil, command{}, err
	}
	if folder := work.GetFolder(); folder != "" {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return nil, command{}, fmt.Errorf("the folder %q does not exist; the command must run there (workingDir)", folder)
		}
	}
	c, err := resolveCommand(work, env, a.paths.code, a.workFolder(), s.config.Python, s.config.Executable)
	return env, c, err
}

// workFolder returns the working directory of the command.
func (a *attempt) workFolder() string {
	p := a.spec.GetProcess()
	if p.GetFolder() != "" {
		return p.GetFolder()
	}
	if pod := a.s.config.Pod; pod != nil && p.GetImageFolder() && pod.runsIn(p.GetImageCommand()) {
		return pod.Folder
	}
	return a.paths.work
}

// tee also captures what the command writes when an output is made of it.
func (a *attempt) tee(take func([]byte)) func([]byte) {
	if !slices.ContainsFunc(a.spec.Outputs, func(o *flowforgev1.OutputSpec) bool { return o.Stdout }) {
		return take
	}
	return func(p []byte) {
		a.stdout.take(p)
		take(p)
	}
}

// execute runs the command and waits for its end.
func (a *attempt) execute(c command, env environ) ending {
	stdout, stderr := a.newStream("stdout"), a.newStream("stderr")
	a.kills = a.s.cgroup.oomKills()
	child, report, err := a.startCommand(c, env, a.tee(stdout.take), stderr.take)
	if err != nil {
		e := startFailed(startFailure(c, err))
		e.code = exitNotExecutable
		return e
	}
	a.mu.Lock()
	a.child = child
	a.mu.Unlock()
	a.s.commands.Add(1)
	defer a.s.commands.Add(-1)
	a.started(child.pid)
	defer a.sampleEarly(child)()
	a.inputs.streams.begin(a.ctx)
	liveUploads := a.uploadChunks()
	if a.saver != nil {
		a.saver.begin()
	}
	a.gang.watch(a)
	if a.spec.TimeoutMs > 0 { // covers storing the outputs
		limit := time.Duration(a.spec.TimeoutMs) * time.Millisecond
		a.timeout = time.AfterFunc(limit, func() { a.stop(timeoutError{limit}, a.grace()) })
	}
	unwatch := context.AfterFunc(a.ctx, func() {
		child.signal(syscall.SIGTERM)
		child.signal(syscall.SIGCONT) // a suspended process handles no other signal
		a.mu.Lock()
		late := !a.killAt.IsZero() && !time.Now().Before(a.killAt)
		a.mu.Unlock()
		if late { // the grace period had expired before the process started
			child.signal(syscall.SIGKILL)
		}
	})
	defer unwatch()
	status, err := child.wait(func() {
		a.s.sweepAfter(a.spec.TaskId)
		a.box.log.release()
	})
	stdout.close()
	stderr.close()
	a.s.tasks.Go(report)
	well := err == nil && status.code == 0
	liveUploads.finish(a.ctx, well)
	if well {
		a.inputs.streams.settle()
	}
	if err != nil {
		return ending{outcome: flowforgev1.Outcome_OUTCOME_FAILED, message: "The command's exit status could not be read: " + err.Error() + ".", code: -1}
	}
	return a.judge(status, stderr.lastWords())
}

// startCommand starts the command: a Python script as a fork of a warm process if possible.
// report is called after its end.
func (a *attempt) startCommand(c command, env environ, stdout, stderr func([]byte)) (_ *child, report func(), err error) {
	if a.reserved != nil && a.reserved.run() == nil {
		return newChild(a.reserved.process, a.reserved.outputs, &a.s.buffers, stdout, stderr), a.reserved.report, nil
	}
	if program, ok := a.pythonProgram(c, env); ok {
		forked, err := a.s.warm.start(a.ctx, &program)
		if err == nil {
			return newChild(forked.process, forked.outputs, &a.s.buffers, stdout, stderr), forked.report, nil
		}
		if !errors.Is(err, errFirstUse) && !errors.Is(err, errWarmFailed) && a.ctx.Err() == nil {
			a.s.logger.Warn("An attempt starts its own interpreter.", "task", a.spec.TaskId, "reason", err)
		}
	}
	child, err := a.s.forker.startChild(c, env, a.workFolder(), &a.s.buffers, stdout, stderr)
	return child, func() {}, err
}

// judge derives the outcome of the attempt from the exit status.
func (a *attempt) judge(status exit, lastWords string) ending {
	e := ending{code: status.code, status: status}
	switch cause := context.Cause(a.ctx); {
	case cause != nil:
		e = stopped(cause, status.code)
		e.status = status
	case status.code == 0:
		e.outcome = flowforgev1.Outcome_OUTCOME_SUCCEEDED
	case a.outOfMemory(status):
		e.outcome, e.class = flowforgev1.Outcome_OUTCOME_FAILED, classMemory
		e.message = a.memoryMessage()
	case status.signal == syscall.SIGKILL:
		e.outcome, e.class = flowforgev1.Outcome_OUTCOME_FAILED, classError
		e.message = "The command was killed (SIGKILL); the machine may have run out of memory."
	case status.signal != 0:
		e.outcome, e.class = flowforgev1.Outcome_OUTCOME_FAILED, classError
		e.message = fmt.Sprintf("The command was terminated by signal %d (%s).", int(status.signal), status.signal)
	default:
		e.outcome, e.class = flowforgev1.Outcome_OUTCOME_FAILED, classError
		e.message = fmt.Sprintf("The command exited with code %d.", status.code)
		if lastWords != "" {
			e.message = fmt.Sprintf("The command exited with code %d: %s", status.code, lastWords)
		}
	}
	return e
}

// outOfMemory reports whether the kernel killed the command, or a process of it, because
// memory ran out. A shared control group also counts the processes of others, so there
// only a SIGKILL of the command itself counts.
func (a *attempt) outOfMemory(status exit) bool {
	if status.code == 0 || a.s.cgroup.oomKills() <= a.kills {
		return false
	}
	return a.s.config.Pod != nil || status.code == 128+int(syscall.SIGKILL)
}

func (a *attempt) memoryMessage() string {
	limit := a.spec.MemoryLimitMib << 20
	if a.s.config.Pod != nil {
		if own := a.s.cgroup.limit(); own > 0 {
			limit = own
		}
	}
	if limit <= 0 {
		return "The command was killed because memory ran out."
	}
	return fmt.Sprintf("The command was killed because memory ran out; its limit is %d MiB.", limit>>20)
}

// runHTTP sends the request of an http operator.
func (a *attempt) runHTTP(work *flowforgev1.Http) ending {
	return a.runCall(func(ctx context.Context) error {
		declared := func(name string) bool {
			return slices.ContainsFunc(a.spec.Outputs, func(o *flowforgev1.OutputSpec) bool { return o.Name == name })
		}
		c := &call{requester: a.s.requester, work: work, outputs: a.paths.outputs, wants: declared, note: a.system, sign: unsigned}
		if work.Tagged || work.Connection != "" {
			var err error
			if c.inputs, err = a.inputsOf(ctx); err != nil {
				return err
			}
		}
		if err := c.connect(ctx); err != nil {
			return err
		}
		return c.do(ctx)
	})
}

// runCall runs the work of an operator that calls another system, within the timeout of the attempt.
func (a *attempt) runCall(call func(context.Context) error) ending {
	ctx := a.ctx
	if a.spec.TimeoutMs > 0 {
		limit := time.Duration(a.spec.TimeoutMs) * time.Millisecond
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, timeoutError{limit})
		defer cancel()
	}
	a.started(0)
	err := call(ctx)
	if a.spec.Poll > 0 {
		return polled(ctx, a, err)
	}
	if cause := context.Cause(ctx); cause != nil {
		return stopped(cause, -1)
	}
	if err != nil {
		return ending{outcome: flowforgev1.Outcome_OUTCOME_FAILED, class: classError, message: capitalized(err), code: 1}
	}
	return ending{outcome: flowforgev1.Outcome_OUTCOME_SUCCEEDED}
}

// logStream turns what a process writes to one stream into log entries.
type logStream struct {
	name     string
	box      *outbox
	masker   *masking.Masker
	splitter lineSplitter
	guess    levelGuess
	sequence int64
	extra    string // JSON object
	now      time.Time
	entries  []*flowforgev1.LogEntry

	mu   sync.Mutex
	last lastWords
}

func (a *attempt) newStream(name string) *logStream {
	s := &logStream{name: name, box: a.box, masker: a.secrets.masker.Load(), sequence: a.gang.sequence(0), extra: a.gang.fields()}
	s.splitter.emit = s.line
	if !s.masker.Empty() {
		s.splitter.cut = s.masker.Cut
	}
	return s
}

// take receives what the process wrote, in order, from one goroutine.
func (s *logStream) take(p []byte) {
	s.now = time.Now()
	s.splitter.write(p)
	s.flush()
}

// close sends a last line without a line feed; take must not be called after it.
func (s *logStream) close() {
	s.now = time.Now()
	s.splitter.close()
	s.flush()
}

func (s *logStream) line(text string) {
	text = s.masker.Text(text)
	s.sequence++
	level, part := s.guess.read(text)
	entry := newEntry(s.name, s.sequence, level, text, s.now)
	entry.Extra = s.extra
	s.entries = append(s.entries, entry)
	s.mu.Lock()
	s.last.add(withoutEscapes(text), part)
	s.mu.Unlock()
}

func (s *logStream) flush() {
	s.box.log.append(s.entries)
	s.entries = nil
}

func (s *logStream) lastWords() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.text()
}
