package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// The end of an id that pages show names the execution everywhere that its id does.
func TestTheShortIDIsTakenEverywhere(t *testing.T) {
	t.Parallel()
	b, e := running(t)
	id := e.ID.String()
	short := id[len(id)-6:]

	for _, path := range []string{"/executions/" + short, "/executions/%23" + short, "/executions/" + strings.ToUpper(short)} {
		got := b.member.get(t, path+"?view=list")
		require.Equal(t, http.StatusFound, got.status, path)
		require.Equal(t, "/executions/"+id+"?view=list", got.header.Get("Location"))
	}
	require.Equal(t, "/executions/"+id+"/nodes/work", b.member.get(t, "/executions/"+short+"/nodes/work").header.Get("Location"))
	b.member.get(t, "/executions/"+id).says(t, http.StatusOK, `data-copy="`+id+`"`) // the full ID, to be copied
	answer := b.member.get(t, "/api/v1/executions/"+short+"/nodes?limit=1")
	require.Equal(t, http.StatusTemporaryRedirect, answer.status)
	require.Equal(t, "/api/v1/executions/"+id+"/nodes?limit=1", answer.header.Get("Location"))
	for _, text := range []string{"%23" + short, short} {
		b.member.get(t, "/search?q="+text).says(t, http.StatusOK, "pages.flow", "#"+short)
		b.member.get(t, "/executions?q="+text).says(t, http.StatusOK, "#"+short)
	}
	require.Equal(t, http.StatusNotFound, b.member.get(t, "/executions/00000000").status)
	require.Equal(t, http.StatusNotFound, b.member.get(t, "/executions/zzzzzz").status)
}

// Ids that end alike are offered to choose from; the API requests more digits.
func TestShortIDsThatTwoExecutionsShareAreAChoice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, `{"name": "pages.nothing", "version": "1.0.0", "operators": [{"name": "go", "type": "noop"}]}`)
	b.start(t)
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "pages.nothing", Inputs: map[string]any{}})
	require.NoError(t, err)
	b.until(t, e.ID, func(e query.Execution) bool { return e.Status.Ended() })

	twin := e.ID
	twin[6] ^= 1 // an id of the same moment with the same end
	_, err = b.pool.Exec(b.ctx, `INSERT INTO executions SELECT (jsonb_populate_record(x, jsonb_build_object('id', $2::text))).* FROM executions x WHERE id = $1`, e.ID, twin.String())
	require.NoError(t, err)
	short := e.ID.String()[len(e.ID.String())-6:]
	page := b.member.get(t, "/executions/"+short)
	page.says(t, http.StatusMultipleChoices, "2 executions end in #"+short, "/executions/"+e.ID.String(), "/executions/"+twin.String())
	problem := b.member.get(t, "/api/v1/executions/"+short).problem(t, http.StatusConflict)
	require.Contains(t, problem.Detail, "Enter more of its last characters, or the full ID.")
	for _, id := range []string{e.ID.String(), twin.String()} {
		require.Contains(t, problem.Detail, id+" (pages.nothing, SUCCEEDED)")
	}
	require.Equal(t, problem.Detail, strings.ReplaceAll(b.member.get(t, "/api/v1/executions/"+short[4:]).problem(t, http.StatusConflict).Detail, `"`+short[4:]+`"`, `"`+short+`"`))
}

// Rows say in which inputs executions of one workflow differ.
func TestExecutionsSayWhatDiffers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, `{"name": "pages.inputs", "version": "1.0.0", "inputs": [{"name": "rate", "type": "Float", "default": 0.5}, {"name": "model", "type": "String", "default": "resnet"}],
		"operators": [{"name": "go", "type": "noop"}]}`)
	b.start(t)
	for _, rate := range []float64{0.125, 0.25} {
		e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "pages.inputs", Inputs: map[string]any{"rate": rate}})
		require.NoError(t, err)
		b.until(t, e.ID, func(e query.Execution) bool { return e.Status.Ended() })
	}
	page := b.member.get(t, "/executions")
	page.says(t, http.StatusOK, "0.125", "0.25", "Duration")
	require.NotContains(t, page.body, "resnet", "an input that both have in common")
}
