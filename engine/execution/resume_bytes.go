package execution

import (
	"context"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/db"
)

// artifactsIn adds the ids of the artifacts that value refers to.
func artifactsIn(value any, ids map[uuid.UUID]struct{}) {
	switch v := value.(type) {
	case map[string]any:
		if text, ok := v["$artifact"].(string); ok {
			if id, err := uuid.Parse(text); err == nil {
				ids[id] = struct{}{}
			}
			return
		}
		for _, item := range v {
			artifactsIn(item, ids)
		}
	case []any:
		for _, item := range v {
			artifactsIn(item, ids)
		}
	}
}

// present are the artifacts whose bytes are available: both the project and the store have
// them.
type present map[uuid.UUID]string

// statAtOnce limits the concurrent requests to the store.
const statAtOnce = 16

// pastResults finds the results of earlier executions that are still stored.
type pastResults struct{ *core }

// present returns the artifacts whose bytes are available, with their hashes.
func (s *pastResults) present(ctx context.Context, project uuid.UUID, ids map[uuid.UUID]struct{}) (present, error) {
	found := present{}
	if len(ids) == 0 {
		return found, nil
	}
	all := make([]uuid.UUID, 0, len(ids))
	for id := range ids {
		all = append(all, id)
	}
	rows, err := s.queries.ArtifactHashes(ctx, all, project)
	if err != nil {
		return nil, fmt.Errorf("find artifacts: %w", err)
	}
	var mu sync.Mutex
	looks, ctx := errgroup.WithContext(ctx)
	looks.SetLimit(statAtOnce)
	for _, r := range rows {
		looks.Go(func() error {
			there, err := s.stored(ctx, project, r)
			if err != nil || !there {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			found[r.ID] = hex.EncodeToString(r.Sha256)
			return nil
		})
	}
	if err := looks.Wait(); err != nil {
		return nil, fmt.Errorf("find bytes: %w", err)
	}
	return found, nil
}

// stored reports whether the store has the bytes of an artifact, and for a folder the bytes
// of its files.
func (s *pastResults) stored(ctx context.Context, project uuid.UUID, r db.ArtifactHashesRow) (bool, error) {
	hash := hex.EncodeToString(r.Sha256)
	_, err := s.artifacts.Store().Stat(ctx, hash)
	if err == nil && r.MediaType == artifact.DirectoryMediaType {
		_, err = s.artifacts.Blob(ctx, project, hash, r.MediaType)
	}
	if apperr.Is(err, apperr.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// lost reports whether values refer to an artifact whose bytes are no longer available.
func (p present) lost(values map[string]any) bool {
	ids := map[uuid.UUID]struct{}{}
	artifactsIn(values, ids)
	for id := range ids {
		if _, ok := p[id]; !ok {
			return true
		}
	}
	return false
}
