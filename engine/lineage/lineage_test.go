package lineage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/lineage"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

type bundle struct {
	t         *testing.T
	ctx       context.Context
	pool      *pgxpool.Pool
	catalogue *catalogue.Service
	workflows *workflow.Service
	lineage   *lineage.Service
	versions  map[string]workflow.Version
}

const (
	trainFlow = `{name: digits.train, version: 1.0.0, inputs: [{name: raw, type: Dataset}, {name: lr, type: Float, default: 0.1}], operators: [
		{name: load, type: command, code: {command: ["true"]}, inputs: [{name: source, type: Dataset, from: inputs.raw}], outputs: [{name: data, type: Dataset}, {name: rows, type: Integer}]},
		{name: train, type: command, code: {command: ["true"]}, inputs: [{name: data, type: Dataset, from: load.data}], outputs: [{name: model, type: Model}]},
		{name: count, type: command, code: {command: ["true"]}, inputs: [{name: rows, type: Integer, from: load.rows}], outputs: [{name: report, type: Report}]}]}`
	scoreFlow = `{name: digits.score, version: 1.0.0, inputs: [{name: model, type: Model}], operators: [
		{name: score, type: command, code: {command: ["true"]}, inputs: [{name: net, type: Model, from: inputs.model}], outputs: [{name: table, type: Table}]}]}`
)

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, ctx: auth.WithSubject(t.Context(), auth.Local()), pool: dbtest.New(t), versions: map[string]workflow.Version{}}
	b.catalogue = catalogue.NewService(b.pool, time.Now)
	b.workflows = workflow.NewService(b.pool, b.catalogue, nil, time.Now)
	b.lineage = lineage.NewService(b.pool, b.workflows, b.catalogue)
	for _, doc := range []string{trainFlow, scoreFlow} {
		v, _, err := b.workflows.Register(b.ctx, []byte(doc))
		require.NoError(t, err, "%+v", apperr.FieldsOf(err))
		b.versions[v.Name] = v
	}
	return b
}

func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	_, err := b.pool.Exec(b.ctx, sql, args...)
	require.NoError(b.t, err)
}

func newID(t *testing.T) uuid.UUID {
	t.Helper()
	id, err := uuid.NewV7()
	require.NoError(t, err)
	return id
}

// run adds an ended execution of a workflow; outputs are those of its nodes.
func (b *bundle) run(flow string, project uuid.UUID, inputs map[string]any, outputs ...map[string]any) uuid.UUID {
	b.t.Helper()
	id, v := newID(b.t), b.versions[flow]
	given, err := json.Marshal(inputs)
	require.NoError(b.t, err)
	b.exec(`INSERT INTO executions (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, status, priority, inputs, submitted_by, submitted_by_name, created_at, started_at, finished_at, total, pending, succeeded, levels)
		VALUES ($1, $2, $3, $4, $5, $6, '1.0.0', 'SUCCEEDED', 50, $7, $8, 'mia', now(), now(), now(), $9, 0, $9, 1)`,
		id, auth.LocalTenant, project, v.WorkflowID, v.ID, flow, given, auth.LocalAdmin, len(v.Plan.Nodes))
	for i, n := range v.Plan.Nodes {
		out := map[string]any{}
		if i < len(outputs) {
			out = outputs[i]
		}
		raw, err := json.Marshal(out)
		require.NoError(b.t, err)
		b.exec(`INSERT INTO nodes (execution_id, node_index, name, level, state, pending_dependencies, attempt, outputs, finished_at) VALUES ($1, $2, $3, 0, 'SUCCEEDED', 0, 1, $4, now())`, id, i, n.Name, raw)
	}
	return id
}

func ref(id uuid.UUID) map[string]any { return map[string]any{"$artifact": id.String()} }

// artifact adds an artifact of a node.
func (b *bundle) artifact(id, execution, project uuid.UUID, node, name, kind, hash string) {
	b.t.Helper()
	b.exec(`INSERT INTO artifacts (id, tenant_id, project_id, execution_id, node_index, node, attempt, workflow_name, name, type, kind, sha256, size, media_type, filename, created_at)
		VALUES ($1, $2, $3, $4, 0, $5, 1, 'digits.train', $6, $7, $7, sha256($8::text::bytea), 3, '', '', now())`, id, auth.LocalTenant, project, execution, node, name, kind, hash)
}

func (b *bundle) entry(kind typeregistry.Kind, name string) catalogue.Entry {
	b.t.Helper()
	e, _, err := b.catalogue.Register(b.ctx, catalogue.Entry{Kind: kind, Name: name, Version: "1"})
	require.NoError(b.t, err)
	return e
}

// trained is an execution that made a model, registered as digits-net@1, from the dataset digits@1.
type trained struct {
	raw, model       catalogue.Entry
	run              uuid.UUID
	data, net, paper uuid.UUID
}

func (b *bundle) trained() trained {
	b.t.Helper()
	x := trained{raw: b.entry(typeregistry.KindDataset, "digits"), data: newID(b.t), net: newID(b.t), paper: newID(b.t)}
	x.run = b.run("digits.train", auth.LocalProject, map[string]any{"raw": map[string]any{"$catalogue": "digits@1"}, "lr": 0.1},
		map[string]any{"data": ref(x.data), "rows": 7}, map[string]any{"model": ref(x.net)}, map[string]any{"report": ref(x.paper)})
	b.exec("INSERT INTO entry_uses (entry_id, execution_id, input, requested) VALUES ($1, $2, 'raw', 'digits')", x.raw.ID, x.run)
	x.data, x.net, x.paper = b.renew(x.data, x.run, "load", "data", "Dataset"), b.renew(x.net, x.run, "train", "model", "Model"), b.renew(x.paper, x.run, "count", "report", "Report")
	x.model = b.entry(typeregistry.KindModel, "digits-net")
	b.exec("UPDATE catalogue_entries SET artifact_id = $1 WHERE id = $2", x.net, x.model.ID)
	return x
}

// renew adds the artifact that an output names, under an ID that is younger than the execution.
func (b *bundle) renew(old, execution uuid.UUID, node, name, kind string) uuid.UUID {
	b.t.Helper()
	id := newID(b.t)
	b.exec("UPDATE nodes SET outputs = replace(outputs::text, $1, $2)::jsonb WHERE execution_id = $3", old.String(), id.String(), execution)
	b.artifact(id, execution, auth.LocalProject, node, name, kind, id.String())
	return id
}

func (b *bundle) trace(q lineage.Request) lineage.Lineage {
	b.t.Helper()
	l, err := b.lineage.Trace(b.ctx, q)
	require.NoError(b.t, err, "%+v", apperr.FieldsOf(err))
	return l
}

// stepsOf returns the items by kind and name, with their steps.
func stepsOf(l lineage.Lineage) map[string]int {
	out := map[string]int{}
	for _, i := range l.Items {
		out[string(i.Kind)+" "+i.Name] = i.Step
	}
	return out
}

func TestWhatAModelWasMadeFrom(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x := b.trained()
	l := b.trace(lineage.Request{Of: "model:digits-net@1", Up: 10, Down: 1})
	require.Equal(t, map[string]int{
		"model digits-net": 0, "artifact model": -1, "node train": -2, "artifact data": -3, "node load": -4, "dataset digits": -5,
	}, stepsOf(l), "the report is not above the model")
	require.Equal(t, "digits-net", l.Focus.Name)
	require.Equal(t, x.run, l.Items[1].Execution)
	relations := map[string]string{}
	for _, e := range l.Edges {
		relations[string(e.Relation)] = e.Label
	}
	require.Equal(t, map[string]string{"registered": "", "output": "data", "input": "source"}, relations)
}

func TestWhatWasMadeFromADataset(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x := b.trained()
	scored := b.run("digits.score", auth.LocalProject, map[string]any{"model": map[string]any{"$catalogue": "digits-net@1"}}, map[string]any{})
	b.exec("INSERT INTO entry_uses (entry_id, execution_id, input, requested) VALUES ($1, $2, 'model', 'digits-net@production')", x.model.ID, scored)
	b.artifact(newID(t), scored, auth.LocalProject, "score", "table", "Table", "t")
	l := b.trace(lineage.Request{Of: "dataset:digits", Down: 10})
	require.Equal(t, map[string]int{
		"dataset digits": 0, "node load": 1, "artifact data": 2, "node count": 2, "node train": 3, "artifact report": 3, "artifact model": 4,
		"model digits-net": 5, "node score": 6, "artifact table": 7,
	}, stepsOf(l), "count reads the value rows")
	require.Empty(t, l.Production.Models)
	require.True(t, l.Production.Complete)
	require.Empty(t, l.Models.Models, "they were not requested")
	near := b.trace(lineage.Request{Of: "dataset:digits", Down: 1, Items: 2, Models: true})
	require.NotContains(t, stepsOf(near), "model digits-net")
	require.Len(t, near.Models.Models, 1, "the limits of the graph do not matter")
	require.Equal(t, "digits-net", near.Models.Models[0].Name)
	require.True(t, near.Models.Complete)

	b.exec("INSERT INTO model_stages VALUES ($1, $2, 'digits-net', 'production', 'mia', now())", x.model.ID, auth.LocalProject)
	for _, of := range []string{"dataset:digits@1", "artifact:" + x.data.String(), "execution:" + x.run.String(), "model:digits-net"} {
		l = b.trace(lineage.Request{Of: of})
		require.Len(t, l.Production.Models, 1, of)
		require.Equal(t, "digits-net", l.Production.Models[0].Name)
		require.True(t, l.Production.Complete)
	}
	require.Empty(t, b.trace(lineage.Request{Of: "artifact:" + x.paper.String()}).Production.Models, "the model does not depend on the report")
}

func TestAnExecutionIsOneItem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x := b.trained()
	l := b.trace(lineage.Request{Of: "execution:" + x.run.String(), Up: 1, Down: 1})
	require.Equal(t, map[string]int{"dataset digits": -1, "execution digits.train": 0, "artifact data": 1, "artifact model": 1, "artifact report": 1}, stepsOf(l))
	require.Equal(t, 1, after(l, "artifact model"), "the registered version is behind the border")
}

func after(l lineage.Lineage, name string) int {
	for _, i := range l.Items {
		if string(i.Kind)+" "+i.Name == name {
			return i.After.Items
		}
	}
	return -1
}

func TestReusedResultsLeadToTheirOrigin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x := b.trained()
	again := b.run("digits.train", auth.LocalProject, map[string]any{"raw": map[string]any{"$catalogue": "digits@1"}}, map[string]any{"data": ref(x.data), "rows": 7})
	b.exec("UPDATE nodes SET origin_execution = $1, origin_index = 0, origin_use = 'TAKEN' WHERE execution_id = $2 AND node_index = 0", x.run, again)
	b.exec("INSERT INTO artifact_uses (artifact_id, execution_id) VALUES ($1, $2)", x.data, again)
	second := newID(t)
	b.artifact(second, again, auth.LocalProject, "train", "model", "Model", "second")
	down := b.trace(lineage.Request{Of: "artifact:" + x.data.String(), Down: 2})
	made := map[uuid.UUID]bool{}
	for _, i := range down.Items {
		if i.Kind == lineage.KindNode && i.Name == "train" {
			made[i.Execution] = true
		}
	}
	require.Equal(t, map[uuid.UUID]bool{x.run: true, again: true}, made)
	up := b.trace(lineage.Request{Of: "artifact:" + second.String(), Up: 10})
	require.Contains(t, stepsOf(up), "dataset digits")
	for _, i := range up.Items {
		if i.Name == "load" {
			require.Equal(t, x.run, i.Execution, "load ran in the first execution")
		}
	}
}

func TestManyUsersAreCountedNotDropped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x := b.trained()
	b.exec(`INSERT INTO entry_uses (entry_id, execution_id, input, requested) SELECT $1, gen_random_uuid(), 'raw', 'digits' FROM generate_series(1, 1500)`, x.raw.ID)
	l := b.trace(lineage.Request{Of: "dataset:digits@1", Down: 1, Fan: 5})
	require.Len(t, l.Items, 6)
	require.GreaterOrEqual(t, l.Focus.After.Items, 995)
	require.True(t, l.Focus.After.AtLeast, "counted to 1,000 only")
	require.True(t, l.Items[len(l.Items)-1].Removed, "an execution without a row was removed")

	wide := b.trace(lineage.Request{Of: "dataset:digits@1", Down: 1, Fan: 5, Items: 1000, Expand: []string{string(l.Focus.Key)}})
	require.Len(t, wide.Items, 201)
}

func TestWhatTheReaderMayNotSeeIsOnlyCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x := b.trained()
	elsewhere := uuid.New()
	scored := b.run("digits.score", elsewhere, map[string]any{"model": map[string]any{"$catalogue": "digits-net@1"}})
	b.exec("INSERT INTO entry_uses (entry_id, execution_id, input, requested) VALUES ($1, $2, 'model', 'digits-net')", x.model.ID, scored)
	viewer := auth.Subject{ID: uuid.New(), Name: "vera", Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject}
	viewer.Policy = auth.PolicyFunc(func(a auth.Action, place uuid.UUID) bool {
		return place == auth.LocalProject && auth.Everywhere(auth.Viewer).May(a, place)
	})
	ctx := auth.WithSubject(t.Context(), viewer)
	l, err := b.lineage.Trace(ctx, lineage.Request{Of: "model:digits-net@1", Down: 3})
	require.NoError(t, err)
	require.Len(t, l.Items, 1)
	require.Equal(t, 1, l.Focus.After.Hidden)
	require.Contains(t, stepsOf(b.trace(lineage.Request{Of: "model:digits-net@1", Down: 3})), "node score", "an administrator sees it")

	for _, of := range []string{"execution:" + scored.String(), fmt.Sprintf("node:%s:0", scored), "artifact:" + uuid.NewString(), "entry:" + uuid.NewString()} {
		_, err := b.lineage.Trace(ctx, lineage.Request{Of: of})
		require.True(t, apperr.Is(err, apperr.NotFound), of)
	}
	_, err = b.lineage.Trace(t.Context(), lineage.Request{Of: "model:digits-net@1"})
	require.True(t, apperr.Is(err, apperr.Unauthenticated))
}

func TestSameBytesLeadToTheirArtifacts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x := b.trained()
	var hash string
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT encode(sha256, 'hex') FROM artifacts WHERE id = $1", x.net).Scan(&hash))
	b.exec("INSERT INTO blobs VALUES (decode($1, 'hex'), 3, '', now())", hash)
	b.exec("INSERT INTO project_blobs (project_id, sha256, size) VALUES ($1, decode($2, 'hex'), 3)", auth.LocalProject, hash)
	_, _, err := b.catalogue.Register(b.ctx, catalogue.Entry{Kind: typeregistry.KindModel, Name: "copy", Version: "1", Blob: &catalogue.BlobRef{SHA256: hash, Size: 3}})
	require.NoError(t, err)
	require.Contains(t, stepsOf(b.trace(lineage.Request{Of: "model:copy", Up: 10})), "dataset digits")
	require.Contains(t, stepsOf(b.trace(lineage.Request{Of: "artifact:" + x.net.String(), Down: 1})), "model copy")
}

func TestRequestsBeyondTheLimitsNameTheirFields(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.lineage.Trace(b.ctx, lineage.Request{Of: "model:x", Up: 21, Down: -1, Fan: 101, Items: 1001})
	var paths []string
	for _, f := range apperr.FieldsOf(err) {
		paths = append(paths, f.Path)
	}
	require.Equal(t, []string{"up", "down", "neighbours", "limit"}, paths)
	_, err = b.lineage.Trace(b.ctx, lineage.Request{Of: "sock"})
	require.Equal(t, "of", apperr.FieldsOf(err)[0].Path)
}
