package handlers_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/typeregistry"
)

// datasetOf is a dataset with a number of rows.
func datasetOf(name string, rows *int64) catalogue.Entry {
	return catalogue.Entry{Kind: typeregistry.KindDataset, Name: name, Version: "1", Description: "About " + name, Facts: catalogue.Facts{Rows: rows, URI: "s3://data/" + name}}
}

const offeredDocument = `
name: typed.offered
version: 1.0.0
inputs:
  - name: kernel
    type: String
    default: rbf
    options: [{value: rbf, label: Radial basis, description: The usual choice}, {value: linear}]
  - {name: data, type: String?, options: {from: datasets, where: "rows > {{least}} and name ~ offered", value: ref, label: description, preview: [rows]}}
  - {name: least, type: Integer, default: 10}
  - {name: outside, type: String?, options: {http: "https://options.example/list"}}
  - {name: pair, type: "Struct{metric: String = \"gini\" @{options: [\"gini\", \"entropy\"]}}"}
operators:
  - {name: train, type: noop}
`

// TestOptionsOfInputs: the page and the API list the options of a list and of a query for the values
// of the other inputs, and a launch rejects other values.
func TestOptionsOfInputs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, offeredDocument)
	const list = "/api/v1/workflows/typed.offered/options/"

	kernels := b.member.get(t, list+"kernel?q=radial").object(t, http.StatusOK)
	require.Equal(t, []any{map[string]any{"value": "rbf", "label": "Radial basis", "description": "The usual choice"}}, kernels["options"])
	first := b.member.get(t, list+"kernel?limit=1").object(t, http.StatusOK)
	rest := b.member.get(t, list+"kernel?limit=1&after="+first["next"].(string)).object(t, http.StatusOK)
	require.Equal(t, "linear", rest["options"].([]any)[0].(map[string]any)["value"])
	require.NotContains(t, rest, "next")
	b.member.get(t, list+"pair.metric").object(t, http.StatusOK)
	b.member.get(t, list+"least").problem(t, http.StatusNotFound)
	b.nobody.get(t, list+"kernel").problem(t, http.StatusUnauthorized)
	outside := b.member.get(t, list+"outside").problem(t, http.StatusServiceUnavailable)
	require.Contains(t, outside.Detail, "FLOWFORGE_OPTIONS_HOSTS")

	p := b.member.post(t, "/api/v1/executions", `{"workflow": "typed.offered", "inputs": {"kernel": "poly", "pair": {"metric": "hinge"}, "outside": "x"}}`).problem(t, http.StatusUnprocessableEntity)
	require.Equal(t, "“poly” is not an option. Choose rbf or linear.", at(p, "inputs.kernel"))
	require.Equal(t, "“hinge” is not an option. Choose gini or entropy.", at(p, "inputs.pair.metric"))
	require.Contains(t, at(p, "inputs.outside"), "The options cannot be loaded, so the value cannot be checked.")

	form := b.member.get(t, "/workflows/typed.offered/launch")
	require.Contains(t, form.body, `data-input="pair.metric"`)
	require.Contains(t, form.body, `data-reads="inputs.least"`)
	require.Contains(t, form.body, "Radial basis · The usual choice")
	const mediaType = "application/x-www-form-urlencoded"
	page := b.member.send(t, http.MethodPost, "/workflows/typed.offered/options", mediaType, "%24input=kernel&%24q=rad")
	require.Equal(t, http.StatusOK, page.status)
	require.Contains(t, page.body, `data-value="rbf"`)
	require.NotContains(t, page.body, `data-value="linear"`)
	failed := b.member.send(t, http.MethodPost, "/workflows/typed.offered/options", mediaType, "%24input=outside")
	require.Equal(t, http.StatusOK, failed.status)
	require.Contains(t, failed.body, "data-retry")
}

// TestOptionsOfTheCatalogue: a query reads what the caller sees, with the values of other inputs.
func TestOptionsOfTheCatalogue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, offeredDocument)
	rows := []int64{5, 5000}
	for i, name := range []string{"offered-small", "offered-large"} {
		_, _, err := b.catalogue.Register(b.ctx, datasetOf(name, &rows[i]))
		require.NoError(t, err)
	}
	const path = "/api/v1/workflows/typed.offered/options/data"
	one := b.member.get(t, path).object(t, http.StatusOK)
	require.Equal(t, []any{map[string]any{"value": "offered-large@1", "label": "About offered-large", "preview": []any{map[string]any{"name": "rows", "value": "5000"}}}}, one["options"])
	both := b.member.post(t, path, `{"inputs": {"least": 1}}`).object(t, http.StatusOK)
	require.Len(t, both["options"], 2)
	require.Equal(t, "offered-large@1", both["options"].([]any)[0].(map[string]any)["value"], "newest first")
	p := b.member.post(t, path, `{"inputs": {"least": "many"}}`).problem(t, http.StatusUnprocessableEntity)
	require.Contains(t, p.Detail, "The options depend on least.")

	p = b.member.post(t, "/api/v1/executions", `{"workflow": "typed.offered", "inputs": {"data": "offered-small@1"}}`).problem(t, http.StatusUnprocessableEntity)
	require.Equal(t, "“offered-small@1” is not an option. Choose offered-large@1.", at(p, "inputs.data"))
	b.member.post(t, "/api/v1/executions", `{"workflow": "typed.offered", "inputs": {"data": "offered-small@1", "least": 1}}`).object(t, http.StatusCreated)
}
