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

// delivery sends the result of an attempt to the server. The mutex of the attempt guards it.
type delivery struct {
	a         *attempt
	result    *flowforgev1.SpooledResult // nil until ended
	memory    []*flowforgev1.SpooledBlob // output files that are also kept in memory
	persisted bool
}

// run uploads the blobs of the result, reports the end and then the remaining log,
// and removes the attempt's folder when the server has accepted everything.
func (d *delivery) run() {
	telemetry := d.readSpool()
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		d.keepInMemory()
	}()
	uploaded := d.uploadAll()
	<-kept
	d.a.stopTimeout()
	if !uploaded {
		d.persist()
		return // the runner is shutting down; the next one delivers
	}
	d.a.mu.Lock()
	var finished *flowforgev1.Finished
	if d.result != nil {
		finished = d.result.Report.GetFinished()
	}
	d.a.mu.Unlock()
	if d.a.box.log.backlogged() {
		// The end is reported before the log, so the log must survive this process.
		if err := d.a.box.log.persist(); err != nil {
			d.a.s.logger.Error("A log could not be written to disk.", "task", d.a.box.taskID, "error", err)
		}
	}
	d.a.s.reporter.update(d.a.box, func() {
		d.a.box.telemetry = append(d.a.box.telemetry, telemetry...)
		if d.a.gang.reports() {
			d.a.box.finished = finished
		}
		d.a.box.last = true
	})
	tidy := time.NewTimer(cleanupAfter)
	defer tidy.Stop()
	for {
		select {
		case <-d.a.delivered:
			if d.a.paths.base != "" {
				d.a.s.slots.release(d.a.paths)
			}
			return
		case <-d.a.s.ctx.Done():
			d.persist()
			return
		case <-tidy.C:
			if d.a.paths.base != "" {
				_ = os.RemoveAll(d.a.paths.work)
				_ = os.RemoveAll(d.a.paths.files)
			}
		}
	}
}

// uploadAll sends the blobs of the result. It returns false when the runner is shutting
// down. A refused blob makes the attempt fail.
func (d *delivery) uploadAll() bool {
	d.a.mu.Lock()
	var blobs []*flowforgev1.SpooledBlob
	if d.result != nil {
		blobs = d.result.Blobs
	}
	d.a.mu.Unlock()
	files := make([]outgoing, 0, len(blobs))
	for _, blob := range blobs {
		files = append(files, outgoing{
			sha: blob.Sha256, path: blob.Path, size: blob.Size,
			handover: handoverPath(d.a.spec.StoreDir, d.a.spec.TaskId, blob.Sha256, blob.Size),
		})
	}
	ctx := d.a.ctx
	if d.result != nil {
		ctx = d.a.collecting(d.result.Report.GetFinished().GetOutcome())
	}
	err := d.a.s.server.uploadFiles(ctx, d.a.box.token, files, d.persist)
	if err == nil {
		return true
	}
	if d.a.s.ctx.Err() != nil {
		return false
	}
	if cause := context.Cause(ctx); cause != nil {
		d.stoppedStoring(cause)
		return true
	}
	refused := fmt.Sprintf("The server rejected the outputs: %v.", err)
	if failed, ok := errors.AsType[*fileError](err); ok {
		refused = fmt.Sprintf("The server rejected the file %s of an output: %v.", failed.name, failed.err)
	}
	if finished := d.result.Report.GetFinished(); d.a.collectsAfterFailure(finished.Outcome) {
		d.a.system(levelWarn, refused)
		d.replaceResult(finished.Outcome, finished.Message)
	} else {
		d.replaceResult(flowforgev1.Outcome_OUTCOME_OUTPUT_FAILED, refused)
	}
	return true
}

// stoppedStoring discards the outputs of an attempt that was stopped because of cause. An
// earlier failure is kept.
func (d *delivery) stoppedStoring(cause error) {
	finished := d.result.Report.GetFinished()
	outcome, message := finished.Outcome, finished.Message
	if outcome == flowforgev1.Outcome_OUTCOME_SUCCEEDED {
		late := stopped(cause, 0)
		outcome, message = late.outcome, late.message+whileStoring
		d.a.mu.Lock()
		finished.Class = late.class
		d.a.mu.Unlock()
	}
	d.replaceResult(outcome, message)
}

// replaceResult replaces the result with one without outputs.
func (d *delivery) replaceResult(outcome flowforgev1.Outcome, message string) {
	d.a.mu.Lock()
	finished := d.result.Report.GetFinished()
	finished.Outcome, finished.Message, finished.Outputs = outcome, message, nil
	d.result.Blobs = nil
	again := d.persisted
	d.persisted = false
	d.a.mu.Unlock()
	if again {
		d.persist()
	}
}

// persist writes to disk what the server has not accepted: the result and the log.
func (d *delivery) persist() {
	select {
	case <-d.a.delivered:
		return
	default:
	}
	if err := d.a.box.log.persist(); err != nil {
		d.a.s.logger.Error("A log could not be written to disk.", "task", d.a.box.taskID, "error", err)
	}
	d.a.mu.Lock()
	defer d.a.mu.Unlock()
	if d.result == nil || d.persisted || d.a.paths.base == "" {
		return
	}
	if err := writeMessage(d.a.paths.result, d.result); err != nil {
		d.a.s.logger.Error("A result could not be written to disk.", "task", d.a.box.taskID, "error", err)
		return
	}
	d.persisted = true
}

// readSpool returns the telemetry that the SDK left in its spool folder: one SendRequest
// as JSON per file.
func (d *delivery) readSpool() []*flowforgev1.Telemetry {
	if d.a.paths.base == "" {
		return nil
	}
	names, err := readNames(d.a.paths.spool)
	if err != nil {
		return nil
	}
	root, err := os.OpenRoot(d.a.paths.spool)
	if err != nil {
		return nil
	}
	defer root.Close()
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".json") })
	var found []*flowforgev1.Telemetry
	for _, name := range names[:min(len(names), maxSpoolFiles)] {
		batch, err := readSpoolFile(root, name)
		if err != nil {
			d.a.system(levelWarn, fmt.Sprintf("The spool file %q of the SDK could not be read: %v.", name, err))
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

// keepInMemory keeps the output files that request it in memory, while they are uploaded
// to the store. Files that do not fit are read from the store.
func (d *delivery) keepInMemory() {
	d.a.mu.Lock()
	files := d.memory
	d.a.mu.Unlock()
	for _, f := range files {
		if err := d.a.s.memory.keep(f.Path, f.Sha256, f.Size); err != nil {
			d.a.s.logger.Warn("An output could not be kept in memory.", "task", d.a.spec.TaskId, "error", err)
		}
	}
}
