package handlers_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views/forms/formtest"
)

func TestTypeaheadAndPreview(t *testing.T) {
	t.Parallel()
	b := setupLaunch(t)
	typ := url.QueryEscape("Dataset(columns=[label: Integer, image: Tensor])")
	for _, query := range []string{"dig", "digits@1", "its@"} {
		doc := b.get(t, "/typeahead?q="+query+"&type="+typ)
		options := formtest.Find(doc, func(n *html.Node) bool { return formtest.Attr(n, "role") == "option" })
		require.Len(t, options, 1, query)
		require.Equal(t, "digits@1", formtest.Attr(options[0], "data-value"))
	}
	text := formtest.Text(b.get(t, "/typeahead/preview?ref=digits@1&type="+typ))
	require.Contains(t, text, "1,797 rows")
	require.Contains(t, text, "1 column does not match")
	require.Contains(t, formtest.Text(b.get(t, "/typeahead/preview?ref=gone&type="+typ)), "The catalogue has no entry gone.")
	res, _, _ := b.do(t, http.MethodGet, "/typeahead?type=Nope", "", nil)
	require.Equal(t, http.StatusUnprocessableEntity, res.StatusCode)
}

// TestEarlierOutputsHaveDistinctLabels: outputs of one workflow have the same name, so their choices
// show the execution and its result.
func TestEarlierOutputsHaveDistinctLabels(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, "name: digits.fit\nversion: 1.0.0\noutputs:\n  - {name: accuracy, type: Float, from: fit.accuracy}\noperators:\n  - {name: fit, type: shell, code: {script: \"true\"}, outputs: [{name: accuracy, type: Float}]}\n")
	for range 2 {
		e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "digits.fit", Inputs: map[string]any{}})
		require.NoError(t, err)
		b.publish(t, e, artifact.New{NodeIndex: 0, Node: "fit", Name: "model", Type: "Model", Kind: "Model", MediaType: "application/json", Filename: "model.json"}, "{}")
		_, err = b.pool.Exec(b.ctx, `UPDATE executions SET outputs = '{"accuracy": 0.9731}' WHERE id = $1`, e.ID)
		require.NoError(t, err)
		got := b.member.get(t, "/typeahead?q=digits&type=Model")
		require.Equal(t, http.StatusOK, got.status)
		require.Contains(t, got.body, "#"+e.ID.String()[len(e.ID.String())-6:])
		require.Contains(t, got.body, "accuracy 0.9731")
	}
}

// TestEarlierOutputsShowTheirBestMetric: an execution without a number as output shows the best
// value of its metrics, a score before a loss.
func TestEarlierOutputsShowTheirBestMetric(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, "name: digits.fit\nversion: 1.0.0\noperators:\n  - {name: fit, type: shell, code: {script: \"true\"}}\n")
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "digits.fit", Inputs: map[string]any{}})
	require.NoError(t, err)
	b.publish(t, e, artifact.New{NodeIndex: 0, Node: "fit", Name: "model", Type: "Model", Kind: "Model", MediaType: "application/json", Filename: "model.json"}, "{}")
	var points []telemetry.Point
	for i, value := range []float64{0.5, 0.9731, 0.7} {
		for _, name := range []string{"loss", "val_accuracy"} {
			points = append(points, telemetry.Point{
				TenantID: e.TenantID, ProjectID: e.ProjectID, ExecutionID: e.ID, Node: "fit", Attempt: 1, Seq: int64(i) + 1,
				Name: name, Kind: telemetry.Gauge, Value: value, Time: time.Now(),
			})
		}
	}
	require.NoError(t, b.telemetry.AppendMetrics(auth.AsSystem(b.ctx), points))
	require.Contains(t, b.member.get(t, "/typeahead?q=digits&type=Model").body, "best val_accuracy 0.9731")
}

// TestRegisteredModelsShowAMetric: the choices of a model input differ by how good the models are.
func TestRegisteredModelsShowAMetric(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for version, accuracy := range map[string]float64{"1": 0.91, "2": 0.97} {
		_, _, err := b.catalogue.Register(b.ctx, catalogue.Entry{
			Kind: typeregistry.KindModel, Name: "digits-mlp", Version: version, Framework: "numpy",
			Facts: catalogue.Facts{URI: "s3://models/digits-mlp", Metrics: map[string]float64{"accuracy": accuracy, "loss": 0.1}},
		})
		require.NoError(t, err)
	}
	got := b.member.get(t, "/typeahead?q=digits-mlp&type=Model")
	require.Contains(t, got.body, "accuracy 0.91")
	require.Contains(t, got.body, "accuracy 0.97")
}
