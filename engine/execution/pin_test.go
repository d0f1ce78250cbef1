package execution_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/registry"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/typeregistry"
)

// engineCatalogue is the catalogue as the engine uses it.
type engineCatalogue struct{ *catalogue.Service }

func (c engineCatalogue) Blob(ctx context.Context, kind typeregistry.Kind, ref string) (execution.BlobRef, error) {
	b, err := c.Service.Blob(ctx, kind, ref)
	return execution.BlobRef(b), err
}

const scoring = "name: score\nversion: 1.0.0\ninputs: [{name: model, type: Model}]\noperators: [{name: a, type: noop}]"

// withModels is an engine with versions 1 (production, alias stable) and 2 (staging) of the model
// net, and a workflow that takes a model.
func withModels(t *testing.T) (*testBundle, *registry.Service) {
	t.Helper()
	var entries *catalogue.Service
	b := setup(t, func(c *execution.Config) {
		entries = catalogue.NewService(c.Pool, time.Now)
		c.Catalogue = engineCatalogue{entries}
	})
	models := registry.NewService(b.pool, entries, time.Now)
	for version, stage := range map[string]registry.Stage{"1": registry.Production, "2": registry.Staging} {
		_, _, err := models.Register(b.ctx, catalogue.Entry{Kind: typeregistry.KindModel, Name: "net", Version: version})
		require.NoError(t, err)
		_, err = models.Move(b.ctx, "net", version, stage, "the first")
		require.NoError(t, err)
	}
	require.NoError(t, models.SetAlias(b.ctx, "net", "stable", "1"))
	b.register(scoring)
	return b, models
}

func score(ref string) execution.LaunchRequest {
	return execution.LaunchRequest{Workflow: "score", Inputs: map[string]any{"model": map[string]any{"$catalogue": ref}}}
}

// TestLaunchPinsModels: a stage and an alias mean the version that has them at the launch, also after
// they move on, and the execution records the requested reference.
func TestLaunchPinsModels(t *testing.T) {
	t.Parallel()
	b, models := withModels(t)
	launched := map[string]uuid.UUID{}
	for _, ref := range []string{"net@production", "net@stable", "net@staging", "net@1"} {
		e, _, err := b.engine.Launches.Launch(b.ctx, score(ref))
		require.NoError(t, err, "%v", apperr.FieldsOf(err))
		launched[ref] = e.ID
	}
	_, err := models.Move(b.ctx, "net", "2", registry.Production, "better")
	require.NoError(t, err)
	require.NoError(t, models.SetAlias(b.ctx, "net", "stable", "2"))
	later, _, err := b.engine.Launches.Launch(b.ctx, score("net@production"))
	require.NoError(t, err)

	for ref, version := range map[string]string{"net@production": "1", "net@stable": "1", "net@staging": "2", "net@1": "1"} {
		b.reads(launched[ref], ref, version)
	}
	b.reads(later.ID, "net@production", "2")
}

// reads checks the inputs of an execution and its record of the catalogue.
func (b *testBundle) reads(id uuid.UUID, ref, version string) {
	b.t.Helper()
	e, err := b.engine.Get(b.ctx, id)
	require.NoError(b.t, err)
	inputs, err := json.Marshal(e.Inputs)
	require.NoError(b.t, err)
	require.JSONEq(b.t, `{"model": {"$catalogue": "net@`+version+`"}}`, string(inputs), ref)
	var input, requested, used string
	require.NoError(b.t, b.pool.QueryRow(b.ctx, `SELECT u.input, u.requested, c.version FROM entry_uses u JOIN catalogue_entries c ON c.id = u.entry_id
		WHERE u.execution_id = $1`, id).Scan(&input, &requested, &used))
	require.Equal(b.t, []string{"model", ref, version}, []string{input, requested, used})
}

// TestLaunchRefusesUnknownModels: a stage without a version, an unknown alias and an unknown model are
// mistakes of the input. Who may not read the catalogue sees the same for models that exist.
func TestLaunchRefusesUnknownModels(t *testing.T) {
	t.Parallel()
	b, _ := withModels(t)
	refusal := func(ctx context.Context, ref string) apperr.Field {
		t.Helper()
		_, _, err := b.engine.Launches.Launch(ctx, score(ref))
		require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", ref, err)
		fields := apperr.FieldsOf(err)
		require.Len(t, fields, 1)
		fields[0].Message = strings.ReplaceAll(fields[0].Message, ref, "REF")
		return fields[0]
	}
	unknown := refusal(b.ctx, "absent@production")
	require.Equal(t, "inputs.model", unknown.Path)
	require.Contains(t, unknown.Message, "REF")
	for _, ref := range []string{"net@archived", "net@champion", "net@3", "absent"} {
		require.Equal(t, unknown, refusal(b.ctx, ref), ref)
	}
	blind := auth.Subject{
		ID: uuid.New(), Name: "blind", Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject,
		Policy: auth.PolicyFunc(func(a auth.Action, _ uuid.UUID) bool { return a != auth.CatalogueRead }),
	}
	for _, ref := range []string{"net@production", "net@stable", "net@1", "net"} {
		require.Equal(t, unknown, refusal(auth.WithSubject(b.ctx, blind), ref), ref)
	}
	var launched int
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM executions").Scan(&launched))
	require.Zero(t, launched)
}
