package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/flowforge/flowforge/access/masking"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// stopError is the sentence that says why an attempt was stopped.
type stopError string

func (e stopError) Error() string { return string(e) }

const (
	errCancelled   stopError = "The attempt was cancelled."
	errInterrupted stopError = "The runner was shut down; the attempt can run again."
	errPreempted   stopError = "The attempt made room for others; it runs again."
	errToken       stopError = "The server does not take the attempt's token any more; nothing that it does could be told."
)

// timeoutError stops an attempt that runs longer than it may.
type timeoutError struct{ limit time.Duration }

func (e timeoutError) Error() string { return fmt.Sprintf("The attempt ran longer than %s.", e.limit) }

// memoryError stops an attempt that uses more memory than it may.
type memoryError struct{ used, limit int64 }

func (e memoryError) Error() string {
	return fmt.Sprintf("The attempt used %d MiB of memory; its limit is %d MiB.", e.used>>20, e.limit>>20)
}

// plainName reports whether name is safe as the name of a file.
func plainName(name string) bool {
	if name == "" || len(name) > 200 || name[0] == '.' {
		return false
	}
	for _, c := range []byte(name) {
		if !isLetter(c) && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// attempt is one attempt from its start to the delivery of its result.
type attempt struct {
	s     *Supervisor
	spec  *flowforgev1.AttemptSpec
	paths paths // set once, when the work begins
	box   *outbox
	begin time.Time    // of the command, or of the attempt while there is none
	gang  *gang        // nil: it runs in one place
	saver *folderSaver // nil: checkpoints stay on this machine
	kills int64        // of the control group by lack of memory, before the command began

	ctx    context.Context // ends when the attempt is to stop, with the reason as cause
	cancel context.CancelCauseFunc

	masker     atomic.Pointer[masking.Masker] // of the secrets that it was given
	stdout     captured                       // when an output is made of it
	links      []string                       // at absolute paths, made for the attempt
	leave      func()                         // gives its absolute paths back; nil: it holds none
	placed     []*flowforgev1.PlacedInput     // how its inputs came
	streams    streams                        // those that are read while they are written
	sharedFile []sharedFile                   // what of them others share
	held       []func()                       // give back what it has in memory
	memory     []*flowforgev1.SpooledBlob     // files of its outputs that go through memory
	over       atomic.Bool                    // the command has ended, or never ran
	ended      atomic.Bool                    // nothing runs any more
	refusals   int                            // of its token, in a row; the courier's
	lostToken  atomic.Bool                    // the server did not take the last report for its token
	delivered  chan struct{}

	gauge     gauge
	timeout   *time.Timer // of the command and of storing its outputs; nil: none
	systemSeq atomic.Int64
	points    int64     // metric points told; of the watch
	lastCPU   cpuSample // of the watch

	mu        sync.Mutex
	child     *child
	killTimer *time.Timer
	killAt    time.Time
	result    *flowforgev1.SpooledResult // nil until ended
	persisted bool
}

// stop asks the attempt to end because of cause: SIGTERM now, SIGKILL after
// grace. The first cause stays; a later call can only shorten the grace time.
func (a *attempt) stop(cause error, grace time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := time.Now().Add(grace)
	if a.killTimer == nil || at.Before(a.killAt) {
		if a.killTimer != nil {
			a.killTimer.Stop()
		}
		a.killAt = at
		a.killTimer = time.AfterFunc(grace, a.kill)
	}
	a.cancel(cause)
}

// stopTimeout is called when the outputs are stored.
func (a *attempt) stopTimeout() {
	if a.timeout != nil {
		a.timeout.Stop()
	}
}

// tokenRefusals is how many reports in a row have to be refused for their token
// before the attempt is given up: one server of several may be set up wrongly.
const tokenRefusals = 3

// answered counts the refusals of the token, and remembers whether the end was told.
func (a *attempt) answered(refused, end bool) {
	if end {
		a.lostToken.Store(refused)
	}
	if !refused {
		a.refusals = 0
		return
	}
	if a.refusals++; a.refusals == tokenRefusals {
		a.s.logger.Error("The server does not take the token of an attempt.", "task", a.spec.TaskId)
		a.stop(errToken, a.grace())
	}
}

// kill ends the process group at once.
func (a *attempt) kill() { a.signal(syscall.SIGKILL) }

func (a *attempt) signal(sig syscall.Signal) {
	a.mu.Lock()
	child := a.child
	a.mu.Unlock()
	if child != nil {
		child.signal(sig)
	}
}

// checkpointKey is empty when there is none that can name a folder.
func (a *attempt) checkpointKey() string {
	if plainName(a.spec.CheckpointKey) {
		return a.spec.CheckpointKey
	}
	return ""
}

// preempt asks the attempt to save what it needs to go on from, and to end. A
// file stands where FLOWFORGE_PREEMPTED points before the signal comes, so that
// a program can tell this end from a cancellation.
func (a *attempt) preempt() {
	a.mark()
	a.stop(errPreempted, a.s.config.Pod.commandGrace(a.roomGrace()))
}

func (a *attempt) grace() time.Duration {
	if a.spec.GraceMs > 0 {
		return time.Duration(a.spec.GraceMs) * time.Millisecond
	}
	return defaultGrace
}

// ending is how the work of an attempt came out.
type ending struct {
	outcome flowforgev1.Outcome
	class   string
	message string
	code    int
	status  exit
	found   collection
}

func startFailed(message string) ending {
	return ending{outcome: flowforgev1.Outcome_OUTCOME_START_FAILED, class: classStart, message: message, code: -1}
}

// stopped is the ending of an attempt that was stopped because of cause.
func stopped(cause error, code int) ending {
	e := ending{outcome: flowforgev1.Outcome_OUTCOME_CANCELLED, message: cause.Error(), code: code}
	_, timeout := errors.AsType[timeoutError](cause)
	_, memory := errors.AsType[memoryError](cause)
	stream, streamed := errors.AsType[streamError](cause)
	broken, gang := errors.AsType[*gangError](cause)
	switch {
	case streamed:
		e.outcome, e.class, e.message = flowforgev1.Outcome_OUTCOME_INTERRUPTED, classStream, string(stream)
	case gang:
		e.outcome, e.class, e.code = broken.outcome, broken.class, broken.code
	case timeout:
		e.outcome, e.class = flowforgev1.Outcome_OUTCOME_TIMED_OUT, classTimeout
	case memory:
		e.outcome, e.class = flowforgev1.Outcome_OUTCOME_FAILED, classMemory
	case errors.Is(cause, errToken):
		e.outcome, e.class = flowforgev1.Outcome_OUTCOME_INTERRUPTED, classToken
	case errors.Is(cause, errPreempted):
		e.outcome = flowforgev1.Outcome_OUTCOME_PREEMPTED
	case !errors.Is(cause, errCancelled):
		e.outcome, e.message = flowforgev1.Outcome_OUTCOME_INTERRUPTED, errInterrupted.Error()
	}
	return e
}

// run takes the attempt from its start to the delivery of its result.
func (a *attempt) run() {
	a.begin = time.Now()
	e := a.work()
	a.over.Store(true)
	if sentence := a.damaged(); sentence != "" && e.outcome == flowforgev1.Outcome_OUTCOME_SUCCEEDED {
		e.outcome, e.class, e.message = flowforgev1.Outcome_OUTCOME_FAILED, classError, sentence
	} else if sentence != "" {
		a.system(levelError, sentence)
	}
	e = a.gang.settle(a, e)
	if (e.outcome == flowforgev1.Outcome_OUTCOME_SUCCEEDED || a.salvages(e.outcome)) && a.gang.reports() {
		a.collect(&e)
	}
	a.leavePaths()
	a.leaveMemory()
	for _, note := range e.found.notes {
		a.system(levelInfo, note)
	}
	if e.outcome != flowforgev1.Outcome_OUTCOME_SUCCEEDED && !a.salvages(e.outcome) {
		e.found = collection{}
	}
	if lost := a.box.log.lost(); lost > 0 {
		a.system(levelWarn, fmt.Sprintf("%d log lines are lost: the disk of the runner is full.", lost))
	}
	if a.saver != nil {
		a.saver.finish(e.outcome)
	} else if e.outcome != flowforgev1.Outcome_OUTCOME_SUCCEEDED {
		if err := a.s.slots.saveCheckpoints(a.paths, a.checkpointKey()); err != nil {
			a.system(levelWarn, "The checkpoints could not be kept: "+err.Error()+".")
		}
	}
	a.conclude(e)
	a.deliver()
}

// begun tells that the command runs now, after everything has been prepared.
func (a *attempt) begun(pid int) {
	a.begin = time.Now()
	if !a.gang.reports() {
		return
	}
	a.s.reporter.update(a.box, func() {
		a.box.startedDue = a.begin.Add(startedHold)
		a.box.started = &flowforgev1.Started{
			Timestamp: a.begin.UnixMilli(), Pid: int32(pid), Host: a.s.config.Host, Inputs: a.placed, Awaited: a.isRead() || a.spec.GetServes(), //nolint:gosec // the kernel's ids fit
		}
	})
}

// work prepares and runs what the spec says.
func (a *attempt) work() ending {
	key := a.checkpointKey()
	p, copied, err := a.s.slots.take(a.spec.TaskId, key, a.spec.CheckpointFrom)
	if err != nil {
		return startFailed("The attempt's folder could not be made: " + err.Error() + ".")
	}
	if pod := a.s.config.Pod; pod != nil && pod.Private != "" && len(a.spec.Secrets) > 0 {
		p.inputs = filepath.Join(pod.Private, "inputs.json")
	}
	a.mu.Lock()
	a.paths = p
	a.mu.Unlock()
	if a.s.config.Pod != nil && key != "" {
		a.saver = newFolderSaver(a)
	}
	a.box.log.at(p.log)
	if copied {
		a.system(levelInfo, "It goes on from the checkpoints of the execution that was resumed.")
	}
	if a.alreadyEnded() {
		return stopped(context.Cause(a.ctx), -1)
	}
	switch work := a.spec.Work.(type) {
	case *flowforgev1.AttemptSpec_Process:
		return a.runProcess(work.Process)
	case *flowforgev1.AttemptSpec_Http:
		return a.runHTTP(work.Http)
	}
	return startFailed("The operator has nothing to run.")
}

// alreadyEnded asks the server before anything is done in a pod: one that a late request
// made, after the attempt had ended, must not run it again. A server that does not
// answer says nothing.
func (a *attempt) alreadyEnded() bool {
	if a.s.config.Pod == nil {
		return false
	}
	cancel, preempt := a.s.askWhy(a.ctx, a)
	switch {
	case cancel:
		a.stop(errCancelled, 0)
	case preempt:
		a.preempt()
	}
	return cancel || preempt
}

// salvages reports whether the outputs of an attempt that ended so are wanted although
// it did not succeed.
func (a *attempt) salvages(o flowforgev1.Outcome) bool {
	return a.spec.GetSalvage() && o == flowforgev1.Outcome_OUTCOME_FAILED
}

func (a *attempt) collect(e *ending) {
	var elsewhere, found collection
	rest, err := a.fromElsewhere(&elsewhere)
	if err == nil {
		found, err = collectOutputs(a.ctx, a.paths.outputs, a.paths.base, rest)
	}
	if cause := context.Cause(a.ctx); cause != nil && !a.salvages(e.outcome) {
		late := stopped(cause, e.code)
		e.outcome, e.class, e.message = late.outcome, late.class, late.message+whileStoring
		return
	}
	if err != nil && a.salvages(e.outcome) {
		a.system(levelWarn, "The outputs could not be read: "+err.Error()+".")
		return
	}
	if err != nil {
		e.outcome = flowforgev1.Outcome_OUTCOME_OUTPUT_FAILED
		e.message = "The outputs could not be read: " + err.Error() + "."
		return
	}
	e.found = collection{
		outputs: append(elsewhere.outputs, found.outputs...), blobs: append(elsewhere.blobs, found.blobs...), notes: append(elsewhere.notes, found.notes...),
		memory: append(elsewhere.memory, found.memory...),
	}
}

// whileStoring goes behind the reason of a stop after the end of the command.
const whileStoring = " Its command had ended, but its outputs were not stored yet."

// conclude makes the result out of the ending.
func (a *attempt) conclude(e ending) {
	finished := &flowforgev1.Finished{
		StartedAt:    a.begin.UnixMilli(),
		FinishedAt:   time.Now().UnixMilli(),
		ExitCode:     int32(e.code), //nolint:gosec // -1 to 255
		Outcome:      e.outcome,
		Message:      e.message,
		Outputs:      e.found.outputs,
		CpuSeconds:   e.status.cpu.Seconds(),
		PeakRssBytes: max(e.status.peakRSS, a.gauge.highest()),
		Class:        e.class,
		Inputs:       a.placed,
	}
	a.maskResult(finished)
	a.mu.Lock()
	a.result = &flowforgev1.SpooledResult{
		Report: &flowforgev1.AttemptReport{
			TaskId: a.spec.TaskId, Token: a.spec.Token,
			Report: &flowforgev1.AttemptReport_Finished{Finished: finished},
		},
		Blobs: e.found.blobs,
	}
	a.memory = e.found.memory
	if a.killTimer != nil {
		a.killTimer.Stop()
	}
	a.mu.Unlock()
	a.ended.Store(true)
	if a.s.reporter.away.Load() {
		a.persist()
	}
}

// system writes a line of the runner itself into the attempt's log.
func (a *attempt) system(level, line string) {
	entry := newEntry("system", a.gang.sequence(a.systemSeq.Add(1)), level, a.mask(line), time.Now())
	entry.Extra = a.gang.fields()
	a.box.log.append([]*flowforgev1.LogEntry{entry})
}
