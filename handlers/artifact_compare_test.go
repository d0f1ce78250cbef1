package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/views/viewtest"
)

// TestArtifactsSideBySide: tables are joined by row, texts compared by line, images lie on each other.
func TestArtifactsSideBySide(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, `{"name": "side.flow", "version": "1.0.0", "operators": [{"name": "go", "type": "noop"}]}`)
	b.start(t)
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "side.flow", Inputs: map[string]any{}})
	require.NoError(t, err)
	e = b.until(t, e.ID, func(e query.Execution) bool { return e.Status.Ended() })
	publish := func(name, kind, media, content string) string {
		return b.publish(t, e, artifact.New{NodeIndex: 0, Node: "go", Name: name, Type: kind, Kind: kind, MediaType: media, Filename: name}, content).ID.String()
	}
	compare := func(ids ...string) string {
		got := b.member.get(t, "/artifacts/compare?ids="+strings.Join(ids, ","))
		require.Equal(t, http.StatusOK, got.status, got.body)
		viewtest.Check(t, got.body)
		require.NotContains(t, got.body, "<script>alert")
		return got.body
	}
	page := compare(publish("a.csv", "Table", "text/csv", "digit,recall\n1,0.5\n2,1\n"), publish("b.csv", "Table", "text/csv", "digit,recall\n2,1.0\n1,0.75\n3,<script>alert(1)</script>\n"))
	require.Contains(t, page, "2 rows differ of 3")
	require.Contains(t, page, "+0.25")

	page = compare(publish("a.txt", "Text", "text/plain", "one\ntwo\n"), publish("b.txt", "Text", "text/plain", "one\n<script>alert(1)</script>\n"))
	require.Contains(t, page, "1 line added, 1 removed")
	require.Contains(t, page, `<div class="src-line diff-del">`)

	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde"
	first := publish("a.png", "Image", "image/png", png)
	page = compare(first, publish("b.png", "Image", "image/png", png))
	require.Contains(t, page, "data-overlay-stage")
	require.Contains(t, page, "All have the same bytes.")

	for ids, status := range map[string]int{
		first: http.StatusUnprocessableEntity, first + "," + first: http.StatusUnprocessableEntity, "": http.StatusUnprocessableEntity,
		first + "," + uuid.NewString(): http.StatusNotFound, first + ",x": http.StatusNotFound, strings.Repeat(uuid.NewString()+",", 9): http.StatusNotFound,
	} {
		require.Equal(t, status, b.member.get(t, "/artifacts/compare?ids="+ids).status, ids)
	}
}
