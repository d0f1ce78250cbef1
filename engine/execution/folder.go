package execution

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/db"
)

// SaveFolder records the folder of checkpoints of the calling task's node: the manifest
// under hash, whose files its project has. size is the size of all files in bytes. It
// returns NotFound when the manifest or a file is missing, and Unauthenticated when the
// attempt has ended.
func (s *TaskService) SaveFolder(ctx context.Context, hash string, size int64) error {
	scope, err := scopeOf(ctx)
	if err != nil {
		return err
	}
	raw, err := hex.DecodeString(hash)
	if err != nil || len(raw) != 32 || size < 0 {
		return apperr.New(apperr.Invalid, "Identify the folder by the SHA-256 of its manifest.")
	}
	if _, err := s.artifacts.Blob(ctx, scope.ProjectID, hash, artifact.DirectoryMediaType); err != nil {
		return err
	}
	n, err := s.queries.SaveCheckpointFolder(ctx, db.SaveCheckpointFolderParams{
		ExecutionID: scope.ExecutionID, NodeIndex: int32(scope.NodeIndex), Attempt: int32(scope.Attempt), //nolint:gosec // signed by us
		Sha256: raw, Size: size, SavedAt: s.now(),
	})
	if err != nil {
		return fmt.Errorf("save the folder of checkpoints: %w", err)
	}
	if n == 0 {
		return attemptEnded()
	}
	return nil
}

// savedFolder returns the hash of the folder that earlier attempts of a node
// saved; empty: none.
func (s *core) savedFolder(ctx context.Context, execution uuid.UUID, node int) (string, error) {
	row, err := s.queries.GetCheckpointFolder(ctx, execution, int32(node)) //nolint:gosec // an index of at most 10,000s
	if db.IsNoRows(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("load the folder of checkpoints: %w", err)
	}
	return hex.EncodeToString(row.Sha256), nil
}

// checkpointKey is the name of the folder that the attempts of a node share on one machine.
func checkpointKey(execution uuid.UUID, node int) string {
	return fmt.Sprintf("%s.%d", execution, node)
}

// runsAgain reports whether node i continues from a node of an earlier execution that did
// not finish.
func (as *attemptSpecs) runsAgain(i int) bool {
	o := as.loop.nodes[i].origin
	return o != nil && o.use == useBefore
}

// checkpointsBefore returns the keys of the folders that o left, and of those from which it
// continued itself.
func (s *Driver) checkpointsBefore(ctx context.Context, o origin) ([]string, error) {
	rows, err := s.queries.OriginChain(ctx, o.execution, int32(o.index)) //nolint:gosec // an index below maxNodes
	if err != nil {
		return nil, fmt.Errorf("load the origin of the node: %w", err)
	}
	keys := make([]string, len(rows))
	for k, r := range rows {
		keys[k] = checkpointKey(r.ExecutionID, int(r.NodeIndex))
	}
	return keys, nil
}
