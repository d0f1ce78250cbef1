package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	// cleanupAfter is how long an undelivered attempt keeps its working directory.
	cleanupAfter  = time.Second
	maxSpoolFile  = 16 << 20
	maxSpoolFiles = 10_000
)

// deliver uploads the blobs of the result, reports the end and then the remaining log,
// and removes the attempt's folder when the server has accepted everything.
func (a *attempt) deliver() {
	telemetry := a.readSpool()
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		a.keepInMemory()
	}()
	uploaded := a.uploadAll()
	<-kept
	a.stopTimeout()
	if !uploaded {
		a.persist()
		return // the runner is shutting down; the next one delivers
	}
	a.mu.Lock()
	var finished *flowforgev1.Finished
	if a.result != nil {
		finished = a.result.Report.GetFinished()
	}
	a.mu.Unlock()
	if a.box.log.backlogged() {
		// The end is reported before the log, so the log must survive this process.
		if err := a.box.log.persist(); err != nil {
			a.s.logger.Error("A log could not be written to disk.", "task", a.box.taskID, "error", err)
		}
	}
	a.s.reporter.update(a.box, func() {
		a.box.telemetry = append(a.box.telemetry, telemetry...)
		if a.gang.reports() {
			a.box.finished = finished
		}
		a.box.last = true
	})
	tidy := time.NewTimer(cleanupAfter)
	defer tidy.Stop()
	for {
		select {
		case <-a.delivered:
			if a.paths.base != "" {
				a.s.slots.release(a.paths)
			}
			return
		case <-a.s.ctx.Done():
			a.persist()
			return
		case <-tidy.C:
			if a.paths.base != "" {
				_ = os.RemoveAll(a.paths.work)
				_ = os.RemoveAll(a.paths.files)
			}
		}
	}
}

// uploadAll sends the blobs of the result. It returns false when the runner is shutting
// down. A refused blob makes the attempt fail.
func (a *attempt) uploadAll() bool {
	a.mu.Lock()
	var blobs []*flowforgev1.SpooledBlob
	if a.result != nil {
		blobs = a.result.Blobs
	}
	a.mu.Unlock()
	files := make([]outgoing, 0, len(blobs))
	for _, blob := range blobs {
		files = append(files, outgoing{
			sha: blob.Sha256, path: blob.Path, size: blob.Size,
			handover: handoverPath(a.spec.StoreDir, a.spec.TaskId, blob.Sha256, blob.Size),
		})
	}
	ctx := a.ctx
	if a.result != nil {
		ctx = a.collecting(a.result.Report.GetFinished().GetOutcome())
	}
	err := a.s.server.uploadFiles(ctx, a.box.token, files, a.persist)
	if err == nil {
		return true
	}
	if a.s.ctx.Err() != nil {
		return false
	}
	if cause := context.Cause(ctx); cause != nil {
		a.stoppedStoring(cause)
		return true
	}
	refused := fmt.Sprintf("The server rejected the outputs: %v.", err)
	if failed, ok := errors.AsType[*fileError](err); ok {
		refused = fmt.Sprintf("The server rejected the file %s of an output: %v.", failed.name, failed.err)
	}
	if finished := a.result.Report.GetFinished(); a.collectsAfterFailure(finished.Outcome) {
		a.system(levelWarn, refused)
		a.replaceResult(finished.Outcome, finished.Message)
	} else {
		a.replaceResult(flowforgev1.Outcome_OUTCOME_OUTPUT_FAILED, refused)
	}
	return true
}

// stoppedStoring discards the outputs of an attempt that was stopped because of cause. An
// earlier failure is kept.
func (a *attempt) stoppedStoring(cause error) {
	finished := a.result.Report.GetFinished()
	outcome, message := finished.Outcome, finished.Message
	if outcome == flowforgev1.Outcome_OUTCOME_SUCCEEDED {
		late := stopped(cause, 0)
		outcome, message = late.outcome, late.message+whileStoring
		a.mu.Lock()
		finished.Class = late.class
		a.mu.Unlock()
	}
	a.replaceResult(outcome, message)
}

// replaceResult replaces the result with one without outputs.
func (a *attempt) replaceResult(outcome flowforgev1.Outcome, message string) {
	a.mu.Lock()
	finished := a.result.Report.GetFinished()
	finished.Outcome, finished.Message, finished.Outputs = outcome, message, nil
	a.result.Blobs = nil
	again := a.persisted
	a.persisted = false
	a.mu.Unlock()
	if again {
		a.persist()
	}
}

// persist writes to disk what the server has not accepted: the result and the log.
func (a *attempt) persist() {
	select {
	case <-a.delivered:
		return
	default:
	}
	if err := a.box.log.persist(); err != nil {
		a.s.logger.Error("A log could not be written to disk.", "task", a.box.taskID, "error", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.result == nil || a.persisted || a.paths.base == "" {
		return
	}
	if err := writeMessage(a.paths.result, a.result); err != nil {
		a.s.logger.Error("A result could not be written to disk.", "task", a.box.taskID, "error", err)
		return
	}
	a.persisted = true
}

// readSpool returns the telemetry that the SDK left in its spool folder: one SendRequest
// as JSON per file.
func (a *attempt) readSpool() []*flowforgev1.Telemetry {
	if a.paths.base == "" {
		return nil
	}
	names, err := readNames(a.paths.spool)
	if err != nil {
		return nil
	}
	root, err := os.OpenRoot(a.paths.spool)
	if err != nil {
		return nil
	}
	defer root.Close()
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".json") })
	var found []*flowforgev1.Telemetry
	for _, name := range names[:min(len(names), maxSpoolFiles)] {
		batch, err := readSpoolFile(root, name)
		if err != nil {
			a.system(levelWarn, fmt.Sprintf("The spool file %q of the SDK could not be read: %v.", name, err))
			continue
		}
		found = append(found, &flowforgev1.Telemetry{Logs: batch.Logs, Metrics: batch.Metrics})
	}
	return found
}

func readSpoolFile(root *os.Root, name string) (*flowforgev1.SendRequest, error) {
	file, info, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.Size() > maxSpoolFile {
		return nil, fmt.Errorf("it has %d bytes", info.Size())
	}
	data := make([]byte, info.Size())
	if _, err := file.ReadAt(data, 0); err != nil {
		return nil, err
	}
	var batch flowforgev1.SendRequest
	err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, &batch)
	return &batch, err
}
