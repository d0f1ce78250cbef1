package execution

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/workflow"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// taskVersion returns the execution of a task and its version.
func (s *snapshots) taskVersion(ctx context.Context, scope auth.TaskScope) (db.Execution, workflow.Version, error) {
	row, err := s.queries.GetExecution(ctx, scope.ExecutionID)
	if db.IsNoRows(err) {
		return row, workflow.Version{}, attemptEnded()
	}
	if err != nil {
		return row, workflow.Version{}, fmt.Errorf("load execution: %w", err)
	}
	version, err := s.workflows.VersionByID(auth.AsSystem(ctx), row.VersionID)
	return row, version, err
}

// maxInputSets limits how many attempts have their input blobs cached.
const maxInputSets = 1000

// inputSets caches the input blobs of attempts; these never change while the attempt runs.
type inputSets struct {
	mu    sync.Mutex
	known map[inputSetKey]map[string]struct{} // hashes
}

type inputSetKey struct {
	execution uuid.UUID
	attemptKey
}

// InputBlob checks that the calling task may read the bytes under hash: it returns NotFound
// unless they are its code or belong to its inputs, including files of folders and streams,
// and Unauthenticated when the attempt has ended.
func (s *TaskService) InputBlob(ctx context.Context, hash string) error {
	if err := s.supervisor.Alive(ctx); err != nil {
		return err
	}
	scope, err := scopeOf(ctx)
	if err != nil {
		return err
	}
	key := inputSetKey{scope.ExecutionID, attemptKey{scope.NodeIndex, scope.Attempt}}
	s.inputs.mu.Lock()
	set, ok := s.inputs.known[key]
	s.inputs.mu.Unlock()
	if !ok {
		if set, err = s.inputBlobs(ctx, scope); err != nil {
			return err
		}
		s.inputs.mu.Lock()
		if s.inputs.known == nil || len(s.inputs.known) >= maxInputSets {
			s.inputs.known = map[inputSetKey]map[string]struct{}{}
		}
		s.inputs.known[key] = set
		s.inputs.mu.Unlock()
	}
	_, ok = set[hash]
	if !ok {
		if ok, err = s.streams.streamBlob(ctx, scope, hash); err != nil {
			return err
		}
	}
	if !ok {
		return apperr.New(apperr.NotFound, "There is no blob %s.", hash)
	}
	return nil
}

// inputBlobs collects the hashes of all inputs of an attempt.
func (s *TaskService) inputBlobs(ctx context.Context, scope auth.TaskScope) (map[string]struct{}, error) {
	row, version, err := s.snapshots.taskVersion(ctx, scope)
	if err != nil {
		return nil, err
	}
	ctx = auth.AsSystemIn(ctx, row.TenantID, row.ProjectID)
	view, err := s.snapshots.view(ctx, row, version, scope.NodeIndex)
	if err != nil {
		return nil, err
	}
	view.Lock()
	defer view.Unlock()
	l := view.loop
	in, err := l.specs.inputs(ctx, scope.NodeIndex)
	if err != nil {
		return nil, err
	}
	set := map[string]struct{}{strings.TrimPrefix(l.operator(scope.NodeIndex).Code.Package, "sha256:"): {}}
	saved, err := s.savedFolder(ctx, scope.ExecutionID, scope.NodeIndex)
	if err != nil {
		return nil, err
	}
	all := in.files
	if saved != "" {
		all = append(all, &flowforgev1.InputFile{Sha256: saved, MediaType: artifact.DirectoryMediaType})
	}
	for _, f := range all {
		set[f.Sha256] = struct{}{}
		if f.MediaType != artifact.DirectoryMediaType {
			continue
		}
		files, err := s.artifacts.Files(ctx, row.ProjectID, f.Sha256)
		if err != nil {
			return nil, err
		}
		for _, sha := range files {
			set[sha] = struct{}{}
		}
	}
	return set, nil
}
