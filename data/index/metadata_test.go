package index_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/index"
)

func TestExecutionsAreFoundByTheMetadataOfTheirArtifacts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	artifact := func(execution uuid.UUID, name, metadata string) {
		b.exec(`INSERT INTO artifacts (id, tenant_id, project_id, execution_id, node_index, node, attempt, workflow_name, name, type, kind, sha256, size, media_type, filename, metadata, created_at)
			VALUES ($1, $2, $3, $4, 0, 'train', 1, 'digits-train', $5, 'Model', 'Model', sha256('x'), 1, '', '', $6, now())`,
			uuid.Must(uuid.NewV7()), auth.LocalTenant, auth.LocalProject, execution, name, metadata)
	}
	good, bad, none := b.run(auth.LocalProject, nil), b.run(auth.LocalProject, nil), b.run(auth.LocalProject, nil)
	artifact(good, "model", `{"accuracy": 0.5}`)
	artifact(good, "model", `{"accuracy": 0.97, "framework": "torch"}`) // the newest one counts
	artifact(bad, "model", `{"accuracy": 0.8, "accuracy_test": 0.99}`)
	for _, id := range []uuid.UUID{good, bad, none} {
		b.end(id, "SUCCEEDED", `{}`)
	}
	require.Equal(t, []uuid.UUID{good}, b.find(index.Query{Where: "metadata.model.accuracy >= 0.9"}))
	require.Equal(t, []uuid.UUID{good}, b.find(index.Query{Where: "artifact.metadata.framework = torch"}))
	require.Equal(t, []uuid.UUID{bad, good}, b.find(index.Query{Where: "has:metadata.accuracy", Sort: "metadata.model.accuracy"}))
}
