package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// stopError is the sentence that explains why an attempt was stopped.
type stopError string

func (e stopError) Error() string { return string(e) }

const (
	errCancelled   stopError = "The attempt was cancelled."
	errInterrupted stopError = "The runner was shut down. The attempt can run again."
	errPreempted   stopError = "The attempt was preempted by other work. It runs again."
	errToken       stopError = "The server no longer accepts the attempt's token, so the attempt cannot report." //nolint:gosec // a sentence
)

// timeoutError stops an attempt that exceeds its timeout.
type timeoutError struct{ limit time.Duration }

func (e timeoutError) Error() string { return fmt.Sprintf("The attempt ran longer than %s.", e.limit) }

// memoryError stops an attempt that exceeds its memory limit.
type memoryError struct{ used, limit int64 }

func (e memoryError) Error() string {
	return fmt.Sprintf("The attempt used %d MiB of memory; its limit is %d MiB.", e.used>>20, e.limit>>20)
}

// attempt is one attempt, from its start to the delivery of its result.
type attempt struct {
	s     *Supervisor
	spec  *flowforgev1.AttemptSpec
	paths paths // set once, when the work begins
	box   *outbox
	begin time.Time    // start of the command, or of the attempt before the command starts
	gang  *gang        // nil: the attempt is not a gang
	saver *folderSaver // nil: checkpoints stay on this machine
	kills int64        // out-of-memory kills in the control group before the command started

	ctx    context.Context // is cancelled when the attempt must stop; the cause is the reason
	cancel context.CancelCauseFunc

	inputs    inputFiles
	absolute  absolutePaths
	secrets   attemptSecrets
	delivery  delivery
	stdout    captured    // kept when an output is made of it
	over      atomic.Bool // the command has ended or never ran
	ended     atomic.Bool // no process of the attempt is running
	refusals  int         // consecutive refusals of its token; owned by the reporter
	lostToken atomic.Bool // the server refused the token of the last report
	delivered chan struct{}
	gate      *gate      // nil: the attempt was not prepared in advance
	reserved  *warmChild // has the program of an attempt that was prepared in advance; nil: none

	gauge     gauge
	timeout   *time.Timer // covers the command and storing its outputs; nil: none
	systemSeq atomic.Int64
	points    int64     // metric points reported; owned by watch
	lastCPU   cpuSample // owned by watch

	mu        sync.Mutex
	child     *child
	killTimer *time.Timer
	killAt    time.Time
}

// stop asks the attempt to end because of cause: SIGTERM now, SIGKILL after grace. The
// first cause wins; a later call can only shorten the grace period.
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

// tokenRefusals is the number of consecutive reports that must be refused for their token
// before the attempt is abandoned: one of several servers may be misconfigured.
const tokenRefusals = 3

// answered counts consecutive token refusals and records whether the end was reported.
func (a *attempt) answered(refused, end bool) {
	if end {
		a.lostToken.Store(refused)
	}
	if !refused {
		a.refusals = 0
		return
	}
	if a.refusals++; a.refusals == tokenRefusals {
		a.s.logger.Error("The server rejected the token of an attempt.", "task", a.spec.TaskId)
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

// checkpointKey is empty when the attempt has no key that can name a folder.
func (a *attempt) checkpointKey() string {
	if plainName(a.spec.CheckpointKey) {
		return a.spec.CheckpointKey
	}
	return ""
}

// preempt asks the attempt to save its state and to end. The file at FLOWFORGE_PREEMPTED
// exists before the signal is sent, so that a program can distinguish preemption from
// cancellation.
func (a *attempt) preempt() {
	a.mark()
	a.stop(errPreempted, a.s.config.Pod.commandGrace(a.preemptGrace()))
}

func (a *attempt) grace() time.Duration {
	if a.spec.GraceMs > 0 {
		return time.Duration(a.spec.GraceMs) * time.Millisecond
	}
	return defaultGrace
}

// ending is the outcome of an attempt's work.
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

// stopped returns the ending of an attempt that was stopped because of cause.
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
	if !a.gate.await(a.ctx) {
		a.s.unprepare(a)
		return
	}
	a.over.Store(true)
	if sentence := a.inputs.checkShared(); sentence != "" && e.outcome == flowforgev1.Outcome_OUTCOME_SUCCEEDED {
		e.outcome, e.class, e.message = flowforgev1.Outcome_OUTCOME_FAILED, classError, sentence
	} else if sentence != "" {
		a.system(levelError, sentence)
	}
	e = a.gang.settle(a, e)
	if (e.outcome == flowforgev1.Outcome_OUTCOME_SUCCEEDED || a.collectsAfterFailure(e.outcome)) && a.gang.reports() {
		a.collect(&e)
	}
	a.absolute.release()
	a.inputs.releaseMemory()
	for _, note := range e.found.notes {
		a.system(levelInfo, note)
	}
	if e.outcome != flowforgev1.Outcome_OUTCOME_SUCCEEDED && !a.collectsAfterFailure(e.outcome) {
		e.found = collection{}
	}
	if lost := a.box.log.lost(); lost > 0 {
		a.system(levelWarn, fmt.Sprintf("%d log lines were lost, because the runner's disk is full.", lost))
	}
	if a.saver != nil {
		a.saver.finish(e.outcome)
	} else if e.outcome != flowforgev1.Outcome_OUTCOME_SUCCEEDED {
		if err := a.s.slots.saveCheckpoints(a.paths, a.checkpointKey()); err != nil {
			a.system(levelWarn, "The checkpoints could not be saved: "+err.Error()+".")
		}
	}
	a.conclude(e)
	a.delivery.run()
}

// alreadyEnded asks the server, before anything is done in a pod, whether the attempt has
// ended: a pod that a late request created must not run the attempt again. If the server
// does not respond, the attempt runs.
func (a *attempt) alreadyEnded() bool {
	if a.s.config.Pod == nil {
		return false
	}
	cancel, preempt := a.s.requestStopReason(a.ctx, a)
	switch {
	case cancel:
		a.stop(errCancelled, 0)
	case preempt:
		a.preempt()
	}
	return cancel || preempt
}

// collectsAfterFailure reports whether the outputs of an attempt with this outcome are collected even
// though it did not succeed.
func (a *attempt) collectsAfterFailure(o flowforgev1.Outcome) bool {
	stopped := a.spec.GetServes() && o == flowforgev1.Outcome_OUTCOME_CANCELLED // a daemon ends only by being stopped
	return a.spec.GetCollectAfterFailure() && (o == flowforgev1.Outcome_OUTCOME_FAILED || stopped)
}

// collecting is the context in which outputs are read and sent: the attempt's own, unless the
// attempt was stopped and its outputs are collected nevertheless.
func (a *attempt) collecting(o flowforgev1.Outcome) context.Context {
	if o == flowforgev1.Outcome_OUTCOME_CANCELLED && a.collectsAfterFailure(o) {
		return a.s.ctx
	}
	return a.ctx
}

func (a *attempt) collect(e *ending) {
	var elsewhere, found collection
	ctx := a.collecting(e.outcome)
	rest, err := a.collectExternal(ctx, &elsewhere)
	if err == nil {
		found, err = collectOutputs(ctx, a.paths.outputs, a.paths.base, rest)
	}
	var lost error
	if err == nil {
		lost = a.buckets().uploadAll(ctx, &elsewhere)
	}
	if cause := context.Cause(a.ctx); cause != nil && !a.collectsAfterFailure(e.outcome) {
		late := stopped(cause, e.code)
		e.outcome, e.class, e.message = late.outcome, late.class, late.message+whileStoring
		return
	}
	if err != nil && a.collectsAfterFailure(e.outcome) {
		a.system(levelWarn, "The outputs could not be read: "+err.Error()+".")
		return
	}
	if err != nil {
		e.outcome = flowforgev1.Outcome_OUTCOME_OUTPUT_FAILED
		e.message = "The outputs could not be read: " + err.Error() + "."
		return
	}
	if lost != nil && !a.collectsAfterFailure(e.outcome) {
		e.outcome, e.message = flowforgev1.Outcome_OUTCOME_OUTPUT_FAILED, sentenceOf(lost)
		return
	}
	if lost != nil {
		a.system(levelWarn, sentenceOf(lost))
	}
	e.found = collection{
		outputs: append(elsewhere.outputs, found.outputs...), blobs: append(elsewhere.blobs, found.blobs...), notes: append(elsewhere.notes, found.notes...),
		memory: append(elsewhere.memory, found.memory...),
	}
}

// whileStoring is appended to the reason of a stop after the end of the command.
const whileStoring = " The command had ended, but its outputs were not yet stored."

// conclude builds the result from the ending.
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
		Inputs:       a.inputs.placed,
	}
	if e.outcome == flowforgev1.Outcome_OUTCOME_FAILED && e.class == classError && e.status.code != 0 {
		finished.Traceback = a.traceback()
	}
	a.secrets.maskResult(finished)
	a.mu.Lock()
	a.delivery.result = &flowforgev1.SpooledResult{
		Report: &flowforgev1.AttemptReport{
			TaskId: a.spec.TaskId, Token: a.spec.Token,
			Report: &flowforgev1.AttemptReport_Finished{Finished: finished},
		},
		Blobs: e.found.blobs,
	}
	a.delivery.memory = e.found.memory
	if a.killTimer != nil {
		a.killTimer.Stop()
	}
	a.mu.Unlock()
	a.ended.Store(true)
	if a.s.reporter.away.Load() {
		a.delivery.persist()
	}
}

// system writes a line of the runner to the attempt's log.
func (a *attempt) system(level, line string) { a.systemWith(level, line, a.gang.fields()) }

func (a *attempt) systemWith(level, line, fields string) {
	entry := newEntry("system", a.gang.sequence(a.systemSeq.Add(1)), level, a.secrets.mask(line), time.Now())
	entry.Extra = fields
	a.box.log.append([]*flowforgev1.LogEntry{entry})
}

// environmentLine writes a line about the environment of the attempt.
func (a *attempt) environmentLine(line string, note environmentNote) {
	a.systemWith(levelInfo, line, note.fields(a.gang.fields()))
}
