package handlers_test

import (
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/artifact"
)

func TestArtifactsOverTheAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, err := b.executions.Get(b.ctx, b.launched(t))
	require.NoError(t, err)
	const content = "weights of the model"
	a := b.publish(t, e, artifact.New{
		Node: "wait", Name: "model", Type: `Model(framework="own")`, Kind: "Model", Filename: "modèl.bin", Metadata: map[string]any{"accuracy": 0.923},
	}, content)
	var want []string
	for i := range 7 {
		want = append([]string{b.publish(t, e, artifact.New{Node: "wait", Name: fmt.Sprintf("table%d", i), Type: "Table", Kind: "Table", Filename: "t.csv"}, fmt.Sprint("a,b\n1,", i, "\n")).ID.String()}, want...)
	}

	got := b.member.get(t, "/api/v1/artifacts/"+a.ID.String()).object(t, http.StatusOK)
	require.Equal(t, "20", fmt.Sprint(got["size_bytes"]))
	require.Equal(t, "artifact://sha256/"+a.SHA256, got["storage_uri"])
	require.Equal(t, "0.923", fmt.Sprint(got["metadata"].(map[string]any)["accuracy"]))
	require.Equal(t, e.ID.String(), got["execution_id"])
	require.Equal(t, "Model", got["kind"])

	list := func(path string) []string {
		t.Helper()
		var ids []string
		for page := ""; ; {
			var answer struct {
				Artifacts []struct {
					ID string `json:"artifact_id"`
				} `json:"artifacts"`
				NextPage string `json:"next_page"`
			}
			b.member.get(t, path+"&page="+url.QueryEscape(page)).into(t, http.StatusOK, &answer)
			for _, one := range answer.Artifacts {
				ids = append(ids, one.ID)
			}
			if page = answer.NextPage; page == "" {
				return ids
			}
		}
	}
	all := slices.Concat(want[:7], []string{a.ID.String()})
	require.Equal(t, all, list("/api/v1/artifacts?limit=3"))
	require.Equal(t, all, list("/api/v1/executions/"+e.ID.String()+"/artifacts?limit=2"))
	require.Equal(t, want, list("/api/v1/artifacts?limit=3&type=Table"))
	require.Equal(t, want[:1], list("/api/v1/artifacts?q=table6"))
	require.Equal(t, all, list("/api/v1/artifacts?workflow=with.log"))
	require.Empty(t, list("/api/v1/artifacts?workflow=other"))

	found := b.member.get(t, "/api/v1/artifacts/by-hash/"+a.SHA256).object(t, http.StatusOK)["artifacts"].([]any)
	require.Equal(t, a.ID.String(), found[0].(map[string]any)["artifact_id"])
	b.member.get(t, "/api/v1/artifacts/by-hash/"+strings.Repeat("Z", 64)).problem(t, http.StatusUnprocessableEntity)
	b.member.get(t, "/api/v1/artifacts/by-hash/abc").problem(t, http.StatusUnprocessableEntity)
	b.member.get(t, "/api/v1/artifacts?page=nothing").problem(t, http.StatusUnprocessableEntity)
}

func TestDownloads(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, err := b.executions.Get(b.ctx, b.launched(t))
	require.NoError(t, err)
	const content = "<script>alert(1)</script> 0123456789"
	a := b.publish(t, e, artifact.New{Node: "wait", Name: "report", Type: "Report", Kind: "Report", Filename: "../../été \"1\".html"}, content)
	path := "/api/v1/artifacts/" + a.ID.String() + "/download"

	whole := b.member.get(t, path)
	require.Equal(t, http.StatusOK, whole.status)
	require.Equal(t, content, whole.body)
	disposition, params, err := mime.ParseMediaType(whole.header.Get("Content-Disposition"))
	require.NoError(t, err)
	require.Equal(t, "attachment", disposition, "bytes of tasks never open in the browser as a page of ours")
	require.NotContains(t, params["filename"], "/")
	require.True(t, strings.HasSuffix(params["filename"], ".html"), params["filename"])
	require.Equal(t, `"`+a.SHA256+`"`, whole.header.Get("ETag"))
	require.Equal(t, "nosniff", whole.header.Get("X-Content-Type-Options"))
	require.Contains(t, whole.header.Get("Content-Security-Policy"), "sandbox")

	part := b.member.with("Range", "bytes=26-29").get(t, path)
	require.Equal(t, http.StatusPartialContent, part.status)
	require.Equal(t, "0123", part.body)
	require.Equal(t, fmt.Sprintf("bytes 26-29/%d", len(content)), part.header.Get("Content-Range"))
	require.Equal(t, http.StatusRequestedRangeNotSatisfiable, b.member.with("Range", "bytes=900-").get(t, path).status)
	resumed := b.member.with("Range", "bytes=0-3").with("If-Range", `"other"`).get(t, path)
	require.Equal(t, content, resumed.body, "a part of other bytes is of no use")
	same := b.member.with("If-None-Match", whole.header.Get("ETag")).get(t, path)
	require.Equal(t, http.StatusNotModified, same.status)
	require.Empty(t, same.body)

	head := b.member.send(t, http.MethodHead, path, "", "")
	require.Equal(t, fmt.Sprint(len(content)), head.header.Get("Content-Length"))
	inline := b.member.get(t, path+"?inline=1")
	require.Contains(t, inline.header.Get("Content-Disposition"), "attachment", "pictures alone are shown")
	b.member.get(t, "/api/v1/artifacts/"+uuid.NewString()+"/download").problem(t, http.StatusNotFound)
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.member.send(t, http.MethodPost, "/api/v1/blobs?filename="+url.QueryEscape("../x/rows.csv"), "text/csv", "a,b\n").object(t, http.StatusCreated)
	require.Equal(t, "rows.csv", first["name"])
	require.Equal(t, "4", fmt.Sprint(first["size"]))
	require.Contains(t, first["media_type"], "text/csv")
	again := b.member.send(t, http.MethodPost, "/api/v1/blobs", "", "a,b\n").object(t, http.StatusCreated)
	require.Equal(t, first["$file"], again["$file"], "equal bytes are kept once")
	empty := b.member.send(t, http.MethodPost, "/api/v1/blobs?filename=empty", "", "").object(t, http.StatusCreated)
	require.Equal(t, "0", fmt.Sprint(empty["size"]))

	b.register(t, "name: reads.file\nversion: 1.0.0\ninputs:\n  - {name: rows, type: File}\noperators:\n  - {name: wait, type: noop}\n")
	e := b.member.post(t, "/api/v1/executions", `{"workflow": "reads.file", "inputs": {"rows": `+jsonText(t, first)+`}}`).object(t, http.StatusCreated)
	stored := b.member.get(t, "/api/v1/executions/"+e["execution_id"].(string)).object(t, http.StatusOK)
	require.Equal(t, first["$file"], stored["inputs"].(map[string]any)["rows"].(map[string]any)["$file"])
}
