package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/web"
	"github.com/flowforge/flowforge/web/contract"
)

// comparedVersions registers versions 1 and 2 of the model net. Their executions differ in an input and
// in the version of a dataset. It returns the IDs of the executions.
func comparedVersions(t *testing.T, b *testBundle) []string {
	t.Helper()
	b.register(t, `{"name": "fit", "version": "1.0.0",
		"inputs": [{"name": "rate", "type": "Float"}, {"name": "epochs", "type": "Integer", "default": 3}, {"name": "rows", "type": "Dataset"}],
		"operators": [{"name": "go", "type": "noop", "inputs": [{"name": "data", "type": "Dataset", "from": "inputs.rows"}]}]}`)
	b.start(t)
	var ids []string
	for i, version := range []string{"1", "2"} {
		_, _, err := b.catalogue.Register(b.ctx, catalogue.Entry{Kind: typeregistry.KindDataset, Name: "rows", Version: version, Facts: catalogue.Facts{URI: "s3://rows/" + version}})
		require.NoError(t, err)
		e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "fit", Inputs: map[string]any{"rate": 0.25 * float64(i+1), "rows": "rows@" + version}})
		require.NoError(t, err, "%+v", apperr.FieldsOf(err))
		e = b.until(t, e.ID, func(e query.Execution) bool { return e.Status.Ended() })
		a := b.publish(t, e, artifact.New{NodeIndex: 0, Node: "go", Name: "model", Type: "Model", Kind: "Model", Filename: "net.bin"}, version)
		made := b.member.post(t, "/api/v1/models", fmt.Sprintf(
			`{"name": "net", "version": %q, "artifact": %q, "metrics": {"accuracy": 0.%d, "loss": 0.%d}, "test_set": "digits@1", "input_schema": [{"name": "x", "dtype": %q}]}`,
			version, a.ID, 90+i, 10+i, []string{"Float", "Integer"}[i]))
		require.Equal(t, http.StatusCreated, made.status, made.body)
		ids = append(ids, e.ID.String())
	}
	return ids
}

// TestVersionsOfAModelAreCompared: the API answers what the page shows.
func TestVersionsOfAModelAreCompared(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := comparedVersions(t, b)
	const path = "/api/v1/model-registry/net/compare"
	read := func(query string) contract.ModelComparison {
		var c contract.ModelComparison
		got := b.member.get(t, path+query)
		require.Equal(t, http.StatusOK, got.status, got.body)
		require.NoError(t, json.Unmarshal([]byte(got.body), &c))
		return c
	}
	c := read("?version=2&against=1")
	require.Equal(t, []string{"1", "2", ids[0], ids[1]}, []string{c.Against.Version, c.Version.Version, c.Against.ExecutionID.String(), c.Version.ExecutionID.String()})
	require.Equal(t, "/models/net?against=1&version=2#comparison", c.URL)
	require.Len(t, c.Metrics, 2)
	accuracy, loss := c.Metrics[0], c.Metrics[1]
	require.InDelta(t, 0.01, *accuracy.Difference, 1e-9)
	require.Equal(t, []string{"accuracy", "higher", "better", "loss", "lower", "worse"}, []string{accuracy.Name, accuracy.Better, accuracy.Verdict, loss.Name, loss.Better, loss.Verdict})
	require.True(t, accuracy.SameTestSet)
	require.Equal(t, []string{"Input x is Integer instead of Float."}, c.Signature)
	differing := map[string][]any{}
	for _, r := range c.Inputs.Rows {
		differing[r.Section+" "+r.Path] = []any{r.Against, r.Version}
	}
	require.Equal(t, []any{0.25, 0.5}, differing["inputs rate"], "%v", differing)
	require.NotContains(t, differing, "inputs epochs")
	require.Positive(t, c.Inputs.Same)
	require.Equal(t, []contract.ComparedModelSource{{Kind: "dataset", Name: "rows", Against: []string{"1"}, Version: []string{"2"}}}, c.Sources.Rows)

	page := b.member.get(t, "/models/net?version=2&against=1").body
	for _, want := range []string{"2 against 1", "better", "worse", "rate", "Input x is Integer instead of Float."} {
		require.Contains(t, page, want)
	}

	require.Equal(t, http.StatusNoContent, b.member.send(t, http.MethodPut, "/api/v1/model-registry/net/aliases/champion", "application/json", `{"version": "1"}`).status)
	byAlias := read("?against=champion")
	require.Equal(t, []string{"1", "2"}, []string{byAlias.Against.Version, byAlias.Version.Version}, "the newest version is the default")
}

func TestAComparisonNamesWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, version := range []string{"1", "2"} {
		_, _, err := b.catalogue.Register(b.ctx, catalogue.Entry{Kind: typeregistry.KindModel, Name: "net", Version: version, Facts: catalogue.Facts{URI: "s3://net/" + version}})
		require.NoError(t, err)
	}
	for query, want := range map[string]struct {
		status int
		field  string
	}{
		"net/compare?version=9&against=1":          {http.StatusNotFound, "version"},
		"net/compare?version=1&against=9":          {http.StatusNotFound, "against"},
		"absent/compare?version=1&against=2":       {http.StatusNotFound, "name"},
		"net/compare?version=2&against=2":          {http.StatusUnprocessableEntity, "against"},
		"net/compare?version=1":                    {http.StatusUnprocessableEntity, "against"},
		"net/compare?version=production&against=1": {http.StatusNotFound, "version"},
		"net/compare?version=2&against=production": {http.StatusNotFound, "against"},
	} {
		got := b.member.get(t, "/api/v1/model-registry/"+query)
		var problem web.Problem
		require.NoError(t, json.Unmarshal([]byte(got.body), &problem), got.body)
		require.Equal(t, want.status, got.status, "%s: %s", query, got.body)
		require.Len(t, problem.Errors, 1, "%s: %s", query, got.body)
		require.Equal(t, want.field, problem.Errors[0].Path, query)
	}
	require.Equal(t, http.StatusOK, b.member.get(t, "/api/v1/model-registry/net/compare?version=2").status, "the version before is the default")
}
