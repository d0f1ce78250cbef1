package preset_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/preset"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

type builtin struct{}

func (builtin) Types(context.Context) (*typeregistry.Registry, error) {
	return typeregistry.Builtin(), nil
}

// env is a project with one secret.
func env() typeregistry.Env {
	return typeregistry.Env{Exists: func(_ typeregistry.Kind, ref string) bool { return ref == "tracker" }}
}

type bundle struct {
	pool      *pgxpool.Pool
	workflows *workflow.Service
	presets   *preset.Service
	admin     context.Context
}

const (
	versionOne = `{name: digits.train, version: 1.0.0, inputs: [
		{name: lr, type: "Float(min=0, max=1)", default: 0.1}, {name: epochs, type: "Integer(min=1, max=100)"},
		{name: optimizer, type: "Enum(adam, sgd)", default: adam}, {name: key, type: Secret, required: false}],
		operators: [{name: one, type: command, code: {command: ["true"]}}]}`
	versionTwo = `{name: digits.train, version: 2.0.0, inputs: [
		{name: lr, type: "Float(min=0, max=0.05)", default: 0.01}, {name: epochs, type: "Integer(min=1, max=100)"},
		{name: seed, type: Integer, default: 7}],
		operators: [{name: one, type: command, code: {command: ["true"]}}]}`
)

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{pool: dbtest.New(t), admin: auth.WithSubject(t.Context(), auth.Local())}
	now := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	b.workflows = workflow.NewService(b.pool, builtin{}, nil, now)
	b.presets = preset.NewService(b.pool, b.workflows, now)
	b.register(b.admin, t, versionOne)
	return b
}

func (b *bundle) register(ctx context.Context, t *testing.T, doc string) workflow.Version {
	t.Helper()
	v, _, err := b.workflows.Register(ctx, []byte(doc))
	require.NoError(t, err, "%v", apperr.FieldsOf(err))
	return v
}

// as acts for another person with a role in one project.
func (b *bundle) as(t *testing.T, name, role string, places ...uuid.UUID) context.Context {
	t.Helper()
	held := auth.Everywhere(role)
	return auth.WithSubject(t.Context(), auth.Subject{
		ID: uuid.NewSHA1(uuid.Nil, []byte(name)), Name: name, Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: places[0],
		Policy: auth.PolicyFunc(func(a auth.Action, at uuid.UUID) bool {
			return slices.Contains(places, at) && held.May(a, at)
		}),
	})
}

func named(name string, sharing preset.Sharing, inputs map[string]any) preset.Edit {
	return preset.Edit{Name: &name, Sharing: &sharing, Inputs: inputs, Env: env()}
}

func (b *bundle) names(ctx context.Context, t *testing.T) []string {
	t.Helper()
	list, err := b.presets.List(ctx, "digits.train")
	require.NoError(t, err)
	names := []string{}
	for _, p := range list {
		names = append(names, p.Name)
	}
	return names
}

func TestPresetsAreSharedAsTheirOwnersSay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mei, jonas := b.as(t, "Mei", auth.ProjectDev, auth.LocalProject), b.as(t, "Jonas", auth.ProjectDev, auth.LocalProject)
	viewer, lead := b.as(t, "Vera", auth.Viewer, auth.LocalProject), b.as(t, "Lea", auth.TeamAdmin, auth.LocalProject)
	_, err := b.presets.Save(mei, "digits.train", named("mine", preset.Private, map[string]any{"lr": json.Number("0.5")}))
	require.NoError(t, err)
	_, err = b.presets.Save(mei, "digits.train", named("fast", preset.Project, map[string]any{"epochs": json.Number("1")}))
	require.NoError(t, err)
	require.Equal(t, []string{"fast", "mine"}, b.names(mei, t))
	require.Equal(t, []string{"fast"}, b.names(jonas, t))
	require.Equal(t, []string{"fast"}, b.names(viewer, t))

	_, err = b.presets.Get(jonas, "digits.train", "mine")
	require.Equal(t, apperr.NotFound, apperr.CodeOf(err))
	_, err = b.presets.Change(jonas, "digits.train", "fast", named("slow", preset.Project, nil))
	require.Equal(t, apperr.Forbidden, apperr.CodeOf(err))
	require.Equal(t, apperr.Forbidden, apperr.CodeOf(b.presets.Delete(jonas, "digits.train", "fast")))
	_, err = b.presets.Save(viewer, "digits.train", named("own", preset.Private, nil))
	require.Equal(t, apperr.Forbidden, apperr.CodeOf(err))
	_, err = b.presets.Save(jonas, "digits.train", named("FAST", preset.Project, nil))
	require.Equal(t, apperr.Conflict, apperr.CodeOf(err))
	_, err = b.presets.Save(mei, "digits.train", named("for all", preset.Team, nil))
	require.Equal(t, "sharing", apperr.FieldsOf(err)[0].Path, "a member of the project alone shares with the team")

	changed, err := b.presets.Change(lead, "digits.train", "fast", named("quick", preset.Project, nil))
	require.NoError(t, err)
	require.Equal(t, "Lea", changed.UpdatedBy)
	require.Equal(t, map[string]any{"epochs": json.Number("1")}, changed.Inputs, "a change without inputs keeps them")
	require.NoError(t, b.presets.Delete(lead, "digits.train", "quick"))
	require.Equal(t, []string{}, b.names(jonas, t))
	var actions []string
	rows, err := b.pool.Query(t.Context(), "SELECT action FROM audit_log WHERE object_kind = 'preset' ORDER BY id")
	require.NoError(t, err)
	for rows.Next() {
		var action string
		require.NoError(t, rows.Scan(&action))
		actions = append(actions, action)
	}
	require.Equal(t, []string{"preset.create", "preset.create", "preset.update", "preset.delete"}, actions)
}

func TestATeamUsesThePresetsOfItsOtherProjects(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := uuid.New()
	_, err := b.pool.Exec(t.Context(), `INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, namespace)
		SELECT $1::uuid, 'project', parent_id, parent_kind, tenant_id, path[:cardinality(path)-1] || $1::uuid, 'production', 'production' FROM tenancy_nodes WHERE id = $2`, other, auth.LocalProject)
	require.NoError(t, err)
	mei := b.as(t, "Mei", auth.ProjectDev, auth.LocalProject, auth.LocalTeam)
	jonas := b.as(t, "Jonas", auth.TeamAdmin, other)
	b.register(jonas, t, versionTwo)
	_, err = b.presets.Save(mei, "digits.train", named("wide", preset.Team, map[string]any{"epochs": json.Number("3")}))
	require.NoError(t, err)
	_, err = b.presets.Save(mei, "digits.train", named("near", preset.Project, nil))
	require.NoError(t, err)
	require.Equal(t, []string{"wide"}, b.names(jonas, t))
	_, err = b.presets.SetDefault(jonas, "digits.train", "wide", preset.OfProjects, true)
	require.NoError(t, err)
	require.Equal(t, apperr.Conflict, apperr.CodeOf(b.presets.Delete(jonas, "digits.train", "wide")), "it belongs to the other project")

	_, err = b.presets.Change(mei, "digits.train", "wide", named("wide", preset.Project, nil))
	require.NoError(t, err)
	require.Empty(t, b.names(jonas, t))
	var defaults int
	require.NoError(t, b.pool.QueryRow(t.Context(), "SELECT count(*) FROM launch_preset_defaults").Scan(&defaults))
	require.Zero(t, defaults, "it stays the default of a project that cannot see it")
}

func TestAPresetSaysWhatNoLongerFits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	saved, err := b.presets.Save(b.admin, "digits.train", named("old", preset.Project, map[string]any{
		"lr": json.Number("0.5"), "epochs": json.Number("20"), "optimizer": "sgd", "key": "tracker",
	}))
	require.NoError(t, err)
	two := b.register(b.admin, t, versionTwo)
	fitted, err := b.presets.For(b.admin, saved, two, env())
	require.NoError(t, err)
	require.Equal(t, map[string]any{"epochs": json.Number("20")}, fitted.Inputs)
	require.Equal(t, []string{"seed"}, fitted.Added)
	messages := map[string]string{}
	for _, m := range fitted.Incompatible {
		messages[m.Path] = m.Message
	}
	require.Contains(t, messages["lr"], "0.05")
	require.Contains(t, messages["optimizer"], "There is no field")
	require.Len(t, messages, 3)
}

func TestAPresetHoldsOnlyReferencesToSecrets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.presets.Save(b.admin, "digits.train", named("leak", preset.Project, map[string]any{"key": "hunter2-hunter2"}))
	require.Equal(t, apperr.Invalid, apperr.CodeOf(err))
	require.Equal(t, "inputs.key", apperr.FieldsOf(err)[0].Path)
	_, err = b.presets.Save(b.admin, "digits.train", named("kept", preset.Project, map[string]any{"key": "tracker"}))
	require.NoError(t, err)
}

func TestFaultyPresetsAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for want, e := range map[string]preset.Edit{
		"name":        named(" ", preset.Private, nil),
		"sharing":     named("x", "world", nil),
		"inputs.lr":   named("x", preset.Private, map[string]any{"lr": json.Number("7")}),
		"inputs.rate": named("x", preset.Private, map[string]any{"rate": json.Number("7")}),
	} {
		_, err := b.presets.Save(b.admin, "digits.train", e)
		require.Equal(t, apperr.Invalid, apperr.CodeOf(err), want)
		require.Equal(t, want, apperr.FieldsOf(err)[0].Path)
	}
	_, err := b.presets.Save(b.admin, "digits.train", named(uuid.NewString(), preset.Private, nil))
	require.Equal(t, "name", apperr.FieldsOf(err)[0].Path)
}

func TestTheOwnDefaultComesBeforeThatOfTheProject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mei, jonas := b.as(t, "Mei", auth.ProjectDev, auth.LocalProject), b.as(t, "Jonas", auth.ProjectDev, auth.LocalProject)
	for _, e := range []preset.Edit{named("own", preset.Private, nil), named("all", preset.Project, nil)} {
		_, err := b.presets.Save(mei, "digits.train", e)
		require.NoError(t, err)
	}
	_, err := b.presets.SetDefault(mei, "digits.train", "own", preset.OfProjects, true)
	require.Equal(t, apperr.Conflict, apperr.CodeOf(err))
	_, err = b.presets.SetDefault(b.as(t, "Vera", auth.Viewer, auth.LocalProject), "digits.train", "all", preset.Mine, true)
	require.Equal(t, apperr.Forbidden, apperr.CodeOf(err))
	_, err = b.presets.SetDefault(mei, "digits.train", "own", preset.Mine, true)
	require.NoError(t, err)
	_, err = b.presets.SetDefault(mei, "digits.train", "all", preset.OfProjects, true)
	require.NoError(t, err)
	defaultOf := func(ctx context.Context) string {
		list, err := b.presets.List(ctx, "digits.train")
		require.NoError(t, err)
		if p := preset.Default(list); p != nil {
			return p.Name
		}
		return ""
	}
	require.Equal(t, "own", defaultOf(mei))
	require.Equal(t, "all", defaultOf(jonas))
	_, err = b.presets.SetDefault(mei, "digits.train", "own", preset.Mine, false)
	require.NoError(t, err)
	require.Equal(t, "all", defaultOf(mei))
	_, err = b.presets.Change(mei, "digits.train", "all", named("all", preset.Private, nil))
	require.NoError(t, err)
	require.Empty(t, defaultOf(jonas))
	require.NoError(t, b.presets.Used(mei, "digits.train", "all"))
	p, err := b.presets.Get(mei, "digits.train", "all")
	require.NoError(t, err)
	require.Equal(t, 1, p.Uses)
}
