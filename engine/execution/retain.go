package execution

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
)

// Artifacts to which an execution refers are kept as long as the execution: the table
// artifact_uses records them, and package retention reads it. The transaction that adds a
// reference to an artifact writes the rows and locks the artifact's row until it ends.

// useArtifacts records that execution refers to artifacts, and returns those that the
// project no longer has.
func useArtifacts(ctx context.Context, q *db.Queries, project, execution uuid.UUID, ids map[uuid.UUID]struct{}) ([]uuid.UUID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := q.UseArtifacts(ctx, slices.SortedFunc(maps.Keys(ids), compareIDs), project, execution)
	if err != nil {
		return nil, fmt.Errorf("record the used artifacts: %w", err)
	}
	missing := maps.Clone(ids)
	for _, id := range found {
		delete(missing, id)
	}
	return slices.SortedFunc(maps.Keys(missing), compareIDs), nil
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

// holdNamed locks what a new execution refers to: the artifacts of its inputs and of the
// results that it reuses, and the execution that it resumes. It returns apperr.Conflict for
// objects that are just being removed.
func holdNamed(ctx context.Context, q *db.Queries, l *launch) error {
	ids := map[uuid.UUID]struct{}{}
	if bytes.Contains(l.inputs, []byte("$artifact")) {
		artifactsIn(stored.Object(l.inputs), ids)
	}
	if origin := l.request.resumeOf(); origin != nil {
		if _, err := q.HoldOrigin(ctx, *origin); db.IsNoRows(err) {
			return apperr.New(apperr.Conflict, "The execution %s has expired and is being removed.", origin)
		} else if err != nil {
			return fmt.Errorf("lock execution %s: %w", origin, err)
		}
		taken, err := q.ArtifactsOfNodes(ctx, l.id)
		if err != nil {
			return fmt.Errorf("find reused artifacts: %w", err)
		}
		for _, id := range taken {
			ids[id] = struct{}{}
		}
	}
	missing, err := useArtifacts(ctx, q, l.subject.ProjectID, l.id, ids)
	if err == nil && len(missing) > 0 {
		err = apperr.New(apperr.Conflict, "The artifact %s has just been removed.", missing[0])
	}
	return err
}

// artifactUses records to which artifacts the results of a flush refer.
type artifactUses struct {
	feature
	noPart
}

// write is part of a flush, before the rows of new nodes leave the batch: it records to
// which artifacts the results of the batch refer.
func (au *artifactUses) write(ctx context.Context, q *db.Queries) error {
	ids := map[uuid.UUID]struct{}{}
	for _, n := range au.loop.batch.nodes {
		if n.Outputs != nil {
			artifactsIn(decoded(n.Outputs), ids)
		}
	}
	for _, a := range au.loop.artifacts.part.fresh {
		delete(ids, a.ID)
	}
	missing, err := useArtifacts(ctx, q, au.loop.row.ProjectID, au.loop.id, ids)
	if err != nil {
		return err
	}
	if len(missing) > 0 && len(au.loop.origins.part.rows) > 0 {
		return fmt.Errorf("the artifact %s of an earlier result has just been removed", missing[0])
	}
	return nil
}

// expiry sets until when an execution that ends is kept.
type expiry struct {
	feature
	noPart
}

// write is part of a flush: it sets until when an execution that ends is kept, when its
// launch or its definition limits it.
func (ex *expiry) write(ctx context.Context, q *db.Queries) error {
	if !ex.loop.batch.finished {
		return nil
	}
	ttl, ok := query.TTLFrom(ex.loop.row).After(ex.loop.status == query.Succeeded)
	if !ok {
		ttl, ok = ex.loop.version.Definition.TTL.After(ex.loop.status == query.Succeeded)
	}
	if ok {
		if err := q.SetExpiry(ctx, ex.loop.row.FinishedAt.Add(ttl), ex.loop.id); err != nil {
			return fmt.Errorf("set the expiry: %w", err)
		}
	}
	return nil
}

// decoded returns the JSON value of a row, decoded.
func decoded(value any) any {
	switch v := value.(type) {
	case json.RawMessage:
		return stored.Object(v)
	case map[string]any:
		return v
	}
	return nil
}
