package handlers_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/execution"
)

func TestARefusedRegistrationKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, matrixDocument("train"))
	made := func(kind string, content string) (execution string, a artifact.Artifact) {
		e, _, err := b.executions.Launches.Launch(b.ctx, launchOf("train"))
		require.NoError(t, err)
		a = b.publish(t, e, artifact.New{Node: "wait", Name: "out", Type: kind, Kind: kind, Filename: "out.csv", MediaType: "text/csv", Metadata: map[string]any{"accuracy": len(content)}}, content)
		return e.ID.String(), a
	}
	first, one := made("Model", "a\n1\n")
	second, two := made("Model", "a\n1\n2\n")
	page := "/artifacts/" + one.ID.String()
	refused := b.member.submit(t, page+"/register", "name", "no spaces", "version", "1.0.0", "test_set", "digits-test@1")
	require.Equal(t, http.StatusUnprocessableEntity, refused.status)
	for _, want := range []string{`value="no spaces"`, `value="1.0.0"`, `value="digits-test@1"`, "Start with a letter or digit", `href="#register-name"`} {
		require.Contains(t, refused.body, want)
	}
	for i, a := range []artifact.Artifact{one, two} {
		require.Equal(t, http.StatusSeeOther, b.member.submit(t, "/artifacts/"+a.ID.String()+"/register", "name", "net", "version", strconv.Itoa(i+1)).status)
	}
	taken := b.member.submit(t, page+"/register", "name", "net", "version", "2")
	require.Equal(t, http.StatusConflict, taken.status)
	require.Contains(t, taken.body, "already registered with different content")
	require.Contains(t, taken.body, `<option value="net">newest version 2</option>`, "the form suggests registered names")

	compared := b.member.get(t, "/models/net?version=2&against=1").body
	require.Contains(t, compared, "2 against 1")
	require.Contains(t, compared, "/compare?executions="+first+"%2C"+second)
	require.Contains(t, compared, "Compare the artifacts")
	require.Contains(t, compared, `href="/executions/`+second+`">train `, "the page of a version links to the execution that produced it")

	latest := b.member.get(t, "/models/net").body
	require.Contains(t, latest, "2 against 1", "without a version in production, the newest is compared with the one before")
	for _, want := range []string{"Inputs and code", "Lineage", `<option value="2" selected>2</option>`, `<option value="1" selected>1</option>`} {
		require.Contains(t, latest, want)
	}
	first1 := b.member.get(t, "/models/net?version=1").body
	require.Contains(t, first1, `<option value="" selected>No version</option>`, "there is no version before the first")
	require.Contains(t, b.member.get(t, "/models/net?version=1&against=2").body, "1 against 2")
	require.Equal(t, http.StatusNotFound, b.member.get(t, "/models/net?against=3").status)

	_, data := made("Dataset", "a\n1\n")
	answer := b.member.submit(t, "/artifacts/"+data.ID.String()+"/register", "name", "rows", "version", "1")
	require.Equal(t, "/datasets/rows?version=1", answer.header.Get("Location"))
}

func TestTheProjectHasRulesForPromotions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Contains(t, b.member.get(t, "/model-policy").body, "Team administrators can change these rules.")
	refused := b.admin.submit(t, "/model-policy", "approval", "1", "metric", "worst writer", "better", "lower", "margin", "a bit", "tests", "any")
	require.Equal(t, http.StatusUnprocessableEntity, refused.status)
	for _, want := range []string{`value="worst writer"`, `<option value="lower" selected>`, `<option value="any" selected>`, `value="a bit"`, "Enter a margin such as 0.01."} {
		require.Contains(t, refused.body, want)
	}
	require.Equal(t, http.StatusUnprocessableEntity, b.admin.submit(t, "/model-policy", "metric", "accuracy", "better", "higher", "margin", "inf").status)
	more := b.admin.submit(t, "/model-policy", "metric", "accuracy", "better", "higher", "margin", "", "tests", "same", "add", "1")
	require.Equal(t, http.StatusOK, more.status)
	require.Contains(t, more.body, `aria-label="Rule 2"`)
	require.Equal(t, http.StatusSeeOther, b.admin.submit(t, "/model-policy", "approval", "1",
		"metric", "worst writer", "better", "higher", "margin", "0.01", "tests", "same", "metric", "", "better", "higher", "margin", "", "tests", "same").status)
	saved := b.admin.get(t, "/model-policy?done=policy").body
	for _, want := range []string{"Another person must approve.", "worst writer at least 0.01 higher than in production, on the same test set", `value="worst writer"`, "The policy was saved."} {
		require.Contains(t, saved, want)
	}
}

func launchOf(workflow string) execution.LaunchRequest {
	return execution.LaunchRequest{Workflow: workflow}
}
