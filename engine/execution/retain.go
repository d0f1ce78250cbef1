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

// What an execution names of others stays there as long as the execution does: the
// table artifact_uses says so, and package retention asks it. Rows are written by the
// transaction that names an artifact, which holds the artifact's row until it ends.

// useArtifacts notes that execution names artifacts, and returns those that are not in
// project any more.
func useArtifacts(ctx context.Context, q *db.Queries, project, execution uuid.UUID, ids map[uuid.UUID]struct{}) ([]uuid.UUID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := q.UseArtifacts(ctx, slices.SortedFunc(maps.Keys(ids), compareIDs), project, execution)
	if err != nil {
		return nil, fmt.Errorf("note the artifacts that are used: %w", err)
	}
	missing := maps.Clone(ids)
	for _, id := range found {
		delete(missing, id)
	}
	return slices.SortedFunc(maps.Keys(missing), compareIDs), nil
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

// holdNamed keeps what a new execution names: the artifacts of its inputs and of the
// results that it takes over, and the execution that it goes on from. It returns
// apperr.Conflict for what is just being removed.
func holdNamed(ctx context.Context, q *db.Queries, l *launch) error {
	ids := map[uuid.UUID]struct{}{}
	if bytes.Contains(l.inputs, []byte("$artifact")) {
		artifactsIn(stored.Object(l.inputs), ids)
	}
	if origin := l.request.resumeOf(); origin != nil {
		if _, err := q.HoldOrigin(ctx, *origin); db.IsNoRows(err) {
			return apperr.New(apperr.Conflict, "The execution %s has expired and is being removed.", origin)
		} else if err != nil {
			return fmt.Errorf("hold execution %s: %w", origin, err)
		}
		taken, err := q.ArtifactsOfNodes(ctx, l.id)
		if err != nil {
			return fmt.Errorf("artifacts that are taken over: %w", err)
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

// artifactUses notes which artifacts the results of a flush name.
type artifactUses struct {
	feature
	noPart
}

// write is part of a flush, before the rows of new nodes leave the batch: which
// artifacts the results of the batch name.
func (au *artifactUses) write(ctx context.Context, q *db.Queries) error {
	ids := map[uuid.UUID]struct{}{}
	for _, n := range au.batch.nodes {
		if n.Outputs != nil {
			artifactsIn(decoded(n.Outputs), ids)
		}
	}
	for _, a := range au.artifacts.part.fresh {
		delete(ids, a.ID)
	}
	missing, err := useArtifacts(ctx, q, au.row.ProjectID, au.id, ids)
	if err != nil {
		return err
	}
	if len(missing) > 0 && len(au.origins.part.rows) > 0 {
		return fmt.Errorf("the artifact %s of an earlier result has just been removed", missing[0])
	}
	return nil
}

// expiry says until when an execution that ends is kept.
type expiry struct {
	feature
	noPart
}

// write is part of a flush: until when an execution that ends is kept, when its
// launch or its definition says so.
func (ex *expiry) write(ctx context.Context, q *db.Queries) error {
	if !ex.batch.finished {
		return nil
	}
	ttl, ok := query.TTLFrom(ex.row).After(ex.status == Succeeded)
	if !ok {
		ttl, ok = ex.version.Definition.TTL.After(ex.status == Succeeded)
	}
	if ok {
		if err := q.SetExpiry(ctx, ex.row.FinishedAt.Add(ttl), ex.id); err != nil {
			return fmt.Errorf("set until when it is kept: %w", err)
		}
	}
	return nil
}

// decoded is a value of a row as decoded JSON.
func decoded(value any) any {
	switch v := value.(type) {
	case json.RawMessage:
		return stored.Object(v)
	case map[string]any:
		return v
	}
	return nil
}
