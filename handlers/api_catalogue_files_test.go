package handlers_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/artifact"
)

func TestFilesOfTheCatalogue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	upload := func(name, content string) map[string]any {
		return b.member.send(t, http.MethodPost, "/api/v1/blobs?filename="+url.QueryEscape(name), "", content).object(t, http.StatusCreated)
	}
	made := b.member.post(t, "/api/v1/datasets", `{"name": "team/rows", "version": "1", "file": `+jsonText(t, upload("rows.csv", "a,b\n1,2\n"))+`}`).object(t, http.StatusCreated)
	path := made["download_url"].(string)
	require.Equal(t, "/api/v1/datasets/team%2Frows@1/download", path)
	require.Equal(t, "rows.csv", made["filename"])
	require.Contains(t, made["media_type"], "text/csv")

	whole := b.member.get(t, path)
	require.Equal(t, http.StatusOK, whole.status)
	require.Equal(t, "a,b\n1,2\n", whole.body)
	require.Equal(t, `attachment; filename=rows.csv`, whole.header.Get("Content-Disposition"))
	require.Equal(t, `"`+made["sha256"].(string)+`"`, whole.header.Get("ETag"))
	require.Equal(t, "a,b\n1,2\n", b.member.get(t, "/api/v1/datasets/team%2Frows/download").body, "the newest by name")
	part := b.member.with("Range", "bytes=4-6").get(t, path)
	require.Equal(t, http.StatusPartialContent, part.status)
	require.Equal(t, "1,2", part.body)
	require.Equal(t, "8", b.member.send(t, http.MethodHead, path, "", "").header.Get("Content-Length"))
	b.member.get(t, path+"?path=rows.csv").problem(t, http.StatusNotFound)
	b.member.get(t, "/api/v1/models/team%2Frows@1/download").problem(t, http.StatusNotFound)

	far := b.member.post(t, "/api/v1/datasets", `{"name": "far", "version": "1", "uri": "s3://elsewhere/rows"}`).object(t, http.StatusCreated)
	require.NotContains(t, far, "download_url")
	require.Contains(t, b.member.get(t, "/api/v1/datasets/far@1/download").problem(t, http.StatusNotFound).Detail, "registered without a file")
}

func TestFoldersOfTheCatalogue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	hash := func(content string) string {
		sum := sha256.Sum256([]byte(content))
		return hex.EncodeToString(sum[:])
	}
	register := func(name, listed string) string {
		manifest := fmt.Sprintf(`{"entries": [{"path": "train/rows.csv", "sha256": %q, "size": 4}]}`, hash(listed))
		ref := b.member.send(t, http.MethodPost, "/api/v1/blobs?filename=images", "", manifest).object(t, http.StatusCreated)
		ref["media_type"] = artifact.DirectoryMediaType
		made := b.member.post(t, "/api/v1/datasets", `{"name": "`+name+`", "version": "1", "file": `+jsonText(t, ref)+`}`)
		if made.status != http.StatusCreated {
			made.problem(t, http.StatusUnprocessableEntity)
			return ""
		}
		return made.object(t, http.StatusCreated)["download_url"].(string)
	}
	b.member.send(t, http.MethodPost, "/api/v1/blobs", "", "a,b\n").object(t, http.StatusCreated)
	path := register("images", "a,b\n")
	file := b.member.get(t, path+"?path=train%2Frows.csv")
	require.Equal(t, "a,b\n", file.body)
	require.Equal(t, `attachment; filename=rows.csv`, file.header.Get("Content-Disposition"))
	require.Equal(t, `"`+hash("a,b\n")+`"`, file.header.Get("ETag"))
	require.Contains(t, b.member.get(t, path).body, "train/rows.csv", "the folder itself is the list of its files")
	b.member.get(t, path+"?path=..%2Frows.csv").problem(t, http.StatusNotFound)
	require.Empty(t, register("missing", "bytes that no one sent"))
}
