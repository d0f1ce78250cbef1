package execution

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/workflow"
)

const (
	followLimit = 25 * time.Second // maximum duration of a request for the state of a stream
	followFirst = 20 * time.Millisecond
	followMost  = 500 * time.Millisecond
	maxPieces   = 1000 // maximum pieces in the state of a stream
	maxStream   = 1 << 24
)

// Stream is the state of an output that a node writes.
type Stream struct {
	State  StreamState
	Pieces []BlobRef // after those that the reader knows
	Whole  BlobRef   // once it has ended
	Why    string    // why it is gone, a sentence
}

// StreamState is the progress of an output that is read while it is written.
type StreamState int

// The states.
const (
	StreamWriting StreamState = iota + 1
	StreamEnded               // its writer has succeeded
	StreamGone                // its writer is no longer at that attempt, or did not succeed
)

// StreamService stores and follows the streams that running tasks write.
type StreamService struct {
	*core

	supervisor *Supervisor
	snapshots  *snapshots
}

// Follow returns the state of an output that the attempt writer, a task id, of the
// calling task's execution writes: immediately when there are pieces after the first known
// ones or its writer has ended, otherwise when that changes or wait is over. It returns
// NotFound for an output that is not an input of the task, and Unauthenticated when the
// calling attempt has ended.
func (s *StreamService) Follow(ctx context.Context, writer, output string, known int, wait time.Duration) (Stream, error) {
	scope, err := scopeOf(ctx)
	if err != nil {
		return Stream{}, err
	}
	w, ok := parseTaskID(writer)
	if !ok || w.execution != scope.ExecutionID || known < 0 {
		return Stream{}, apperr.New(apperr.NotFound, "This execution has no attempt %q.", clean(writer, maxNameLength))
	}
	sources, err := s.streamsOf(ctx, scope)
	if err != nil {
		return Stream{}, err
	}
	if !slices.Contains(sources, streamSource{w.Node, output}) {
		return Stream{}, apperr.New(apperr.NotFound, "The task does not read %q of %q.", clean(output, maxNameLength), writer)
	}
	deadline := time.NewTimer(min(wait, followLimit))
	defer deadline.Stop()
	for pause := followFirst; ; pause = min(2*pause, followMost) {
		if err := s.supervisor.Alive(ctx); err != nil {
			return Stream{}, err
		}
		stream, err := s.stream(ctx, scope, w, output, known)
		if err != nil || stream.State != StreamWriting || len(stream.Pieces) > 0 || wait <= 0 {
			return stream, err
		}
		select {
		case <-ctx.Done():
			return Stream{}, ctx.Err()
		case <-deadline.C:
			return stream, nil
		case <-time.After(pause):
		}
	}
}

// streamSource is an output of a node that a task reads while it is written.
type streamSource struct {
	node   int
	output string
}

// streamsOf returns the outputs that an attempt reads, or read, while they are written.
func (s *StreamService) streamsOf(ctx context.Context, scope auth.TaskScope) ([]streamSource, error) {
	row, version, err := s.snapshots.taskVersion(ctx, scope)
	if err != nil {
		return nil, err
	}
	view, err := s.snapshots.view(auth.AsSystemIn(ctx, row.TenantID, row.ProjectID), row, version, scope.NodeIndex)
	if err != nil {
		return nil, err
	}
	view.Lock()
	defer view.Unlock()
	l, i := view.loop, scope.NodeIndex
	var sources []streamSource
	for _, in := range l.operator(i).Inputs {
		if in.Source.Kind != workflow.SourceFuture {
			continue
		}
		if d, ok := l.values.sibling(i, in.Source.Future.Operator); ok && l.progress.Reads(i, d) {
			sources = append(sources, streamSource{d, in.Source.Future.Output})
		}
	}
	return sources, nil
}

// streamBlob reports whether an attempt may read the bytes under hash because they are a
// piece, or the whole, of its streams.
func (s *StreamService) streamBlob(ctx context.Context, scope auth.TaskScope, hash string) (bool, error) {
	sources, err := s.streamsOf(ctx, scope)
	raw, hexErr := hex.DecodeString(hash)
	if err != nil || hexErr != nil {
		return false, err
	}
	for _, source := range sources {
		node := int32(source.node) //nolint:gosec // at most maxNodes
		piece, err := s.queries.IsPiece(ctx, scope.ExecutionID, node, source.output, raw)
		if err != nil {
			return false, fmt.Errorf("find a piece: %w", err)
		}
		if piece {
			return true, nil
		}
		writer, err := s.queries.GetNode(ctx, scope.ExecutionID, node)
		if err != nil {
			return false, fmt.Errorf("read the writer of a stream: %w", err)
		}
		if dag.State(writer.State) != dag.Succeeded {
			continue
		}
		whole, ok, err := s.streamed(ctx, scope, writer, source.output)
		if err != nil {
			return false, err
		}
		if ok && whole.SHA256 == hash {
			return true, nil
		}
	}
	return false, nil
}

// stream returns the current state of an attempt's output.
func (s *StreamService) stream(ctx context.Context, scope auth.TaskScope, w attemptID, output string, known int) (Stream, error) {
	node, err := s.queries.GetNode(ctx, w.execution, int32(w.Node)) //nolint:gosec // parsed as 32 bits
	if db.IsNoRows(err) {
		return Stream{}, apperr.New(apperr.NotFound, "This execution has no node %d.", w.Node)
	}
	if err != nil {
		return Stream{}, fmt.Errorf("read the writer of a stream: %w", err)
	}
	if int(node.Attempt) != w.Attempt {
		return Stream{State: StreamGone, Why: fmt.Sprintf("%s, whose output it read, runs again.", node.Name)}, nil
	}
	var whole BlobRef
	state := StreamWriting
	switch dag.State(node.State) {
	case dag.Queued, dag.Running:
	case dag.Succeeded:
		var ok bool
		if whole, ok, err = s.streamed(ctx, scope, node, output); err != nil {
			return Stream{}, err
		}
		if !ok {
			return Stream{State: StreamGone, Why: fmt.Sprintf("%s, whose output it read, wrote no file %s.", node.Name, output)}, nil
		}
		state = StreamEnded
	case dag.Pending, dag.Ready, dag.Retrying, dag.Failed, dag.Skipped, dag.Cancelled:
		return Stream{State: StreamGone, Why: fmt.Sprintf("%s, whose output it read, did not succeed.", node.Name)}, nil
	}
	pieces, err := s.pieces(ctx, w, output, known)
	return Stream{State: state, Pieces: pieces, Whole: whole}, err
}

// streamed returns the file of a node's output; false when it is none.
func (s *StreamService) streamed(ctx context.Context, scope auth.TaskScope, node db.Node, output string) (BlobRef, bool, error) {
	value, ok := stored.Object(node.Outputs)[output].(map[string]any)
	if !ok {
		return BlobRef{}, false, nil
	}
	r := &resolver{core: s.core, project: scope.ProjectID}
	blob, _, ok, err := r.blob(auth.AsSystemIn(ctx, scope.TenantID, scope.ProjectID), value, "")
	if apperr.Is(err, apperr.NotFound) {
		return BlobRef{}, false, nil
	}
	return blob, ok && blob.MediaType != artifact.DirectoryMediaType, err
}

// pieces returns the pieces of an output that an attempt reported, after the first known.
func (s *StreamService) pieces(ctx context.Context, w attemptID, output string, known int) ([]BlobRef, error) {
	rows, err := s.queries.StreamPieces(ctx, db.StreamPiecesParams{
		ExecutionID: w.execution, NodeIndex: int32(w.Node), Attempt: int32(w.Attempt), Output: output, Known: int32(known), Most: maxPieces, //nolint:gosec // parsed as 32 bits
	})
	if err != nil {
		return nil, fmt.Errorf("read the pieces of a stream: %w", err)
	}
	pieces := make([]BlobRef, len(rows))
	for k, r := range rows {
		pieces[k] = BlobRef{SHA256: hex.EncodeToString(r.Sha256), Size: r.Size}
	}
	return pieces, nil
}

// Append records the next piece of an output that the calling task writes, whose bytes
// its project has. A repetition changes nothing. It returns Invalid for an output that its
// operator does not have, NotFound when the bytes are missing, Conflict when an earlier
// piece is missing, and Unauthenticated when the attempt has ended.
func (s *StreamService) Append(ctx context.Context, output string, index int, hash string, size int64) error {
	scope, err := scopeOf(ctx)
	if err != nil {
		return err
	}
	raw, err := hex.DecodeString(hash)
	if err != nil || len(raw) != 32 || size <= 0 || index < 0 || index > maxStream || output == "" || len(output) > maxNameLength {
		return apperr.New(apperr.Invalid, "A piece of a stream needs a name, an index, a SHA-256 and a size.")
	}
	if err := s.supervisor.Alive(ctx); err != nil {
		return err
	}
	if _, err := s.artifacts.Blob(ctx, scope.ProjectID, hash, ""); err != nil {
		return err
	}
	row := db.AppendStreamParams{
		ExecutionID: scope.ExecutionID, NodeIndex: int32(scope.NodeIndex), Attempt: int32(scope.Attempt), Output: output, Piece: int32(index), //nolint:gosec // signed by us, and below maxStream
		Sha256: raw, Size: size, WrittenAt: s.now(),
	}
	if index > 0 {
		before := db.HasPieceParams{ExecutionID: row.ExecutionID, NodeIndex: row.NodeIndex, Attempt: row.Attempt, Output: output, Piece: row.Piece - 1}
		there, err := s.queries.HasPiece(ctx, before)
		if err != nil {
			return fmt.Errorf("read the previous piece: %w", err)
		}
		if !there {
			return apperr.New(apperr.Conflict, "Piece %d of %s is missing. Send it first.", index-1, output)
		}
	}
	if err := s.queries.AppendStream(ctx, row); err != nil {
		return fmt.Errorf("append to a stream: %w", err)
	}
	return nil
}
