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

// TestTables: the API and the page show the same rows of a table, in pages, sorted and filtered.
func TestTables(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, err := b.executions.Get(b.ctx, b.launched(t))
	require.NoError(t, err)
	var csv strings.Builder
	csv.WriteString("id,share,name\n")
	for i := range 120 {
		fmt.Fprintf(&csv, "%d,%g,<b>n%d</b>\n", i, float64(i)/8, i%3)
	}
	a := b.publish(t, e, artifact.New{Node: "wait", Name: "scores", Type: "Table", Kind: "Table", Filename: "scores.csv", MediaType: "text/csv"}, csv.String())
	path := "/api/v1/artifacts/" + a.ID.String() + "/table"

	var answer struct {
		Columns []struct {
			Name, Type string
		}
		Rows       [][]any
		NextPage   string `json:"next_page"`
		Complete   bool
		Statistics struct {
			Rows    int
			All     bool
			Columns []struct {
				Count, Nulls, Distinct int
				Min, Mean, Max         any
			}
		}
	}
	b.member.get(t, path+"?statistics=true&limit=100").into(t, http.StatusOK, &answer)
	require.Len(t, answer.Rows, 100)
	require.Equal(t, "Float", answer.Columns[1].Type)
	require.Equal(t, 120, answer.Statistics.Rows)
	require.True(t, answer.Statistics.All)
	require.Equal(t, "119", fmt.Sprint(answer.Statistics.Columns[0].Max))
	b.member.get(t, path+"?page="+answer.NextPage).into(t, http.StatusOK, &answer)
	require.Len(t, answer.Rows, 20)
	b.member.get(t, path+"?sort=-share&filter=lt:id:60&filter=contains:name:N1&limit=2").into(t, http.StatusOK, &answer)
	require.Equal(t, "[[58 7.25 <b>n1</b>] [55 6.875 <b>n1</b>]]", fmt.Sprint(answer.Rows))
	require.True(t, answer.Complete)
	for _, bad := range []string{"sort=nothing", "filter=is:id:1", "filter=eq:id:one", "page=x", "limit=0"} {
		b.member.get(t, path+"?"+bad).problem(t, http.StatusUnprocessableEntity)
	}

	page := "/artifacts/" + a.ID.String()
	b.member.get(t, page).says(t, http.StatusOK, "Rows 1 to 50", "Column statistics", "Statistics of all 120 rows", "&lt;b&gt;n1&lt;/b&gt;", "?page=50.")
	b.member.get(t, page+"?sort=-id&column=id&op=lt&value=60").says(t, http.StatusOK, `aria-sort="descending"`, "Remove filter id &lt; 60", ">59<")
	b.member.get(t, page+"?filter=eq:id:one").says(t, http.StatusOK, "The rows are not filtered or sorted.", "not a valid value for column id", "Rows 1 to 50")

	broken := b.publish(t, e, artifact.New{Node: "wait", Name: "broken", Type: "Table", Kind: "Table", Filename: "x.parquet", MediaType: artifact.ParquetMediaType}, "PAR1 and no more")
	b.member.get(t, "/artifacts/"+broken.ID.String()).says(t, http.StatusOK, "No preview.", "it does not end with PAR1")
	b.member.get(t, "/api/v1/artifacts/"+broken.ID.String()+"/table").problem(t, http.StatusUnprocessableEntity)
	text := b.publish(t, e, artifact.New{Node: "wait", Name: "notes", Type: "Text", Kind: "Text", Filename: "x.txt", MediaType: "text/plain"}, "hello")
	b.member.get(t, "/api/v1/artifacts/"+text.ID.String()+"/table").problem(t, http.StatusUnprocessableEntity)
}
