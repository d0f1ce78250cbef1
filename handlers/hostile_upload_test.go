package handlers_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// multipartForm writes a multipart form and returns its type and body.
func multipartForm(t *testing.T, write func(w *multipart.Writer)) (mediaType, body string) {
	t.Helper()
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	write(w)
	require.NoError(t, w.Close())
	return w.FormDataContentType(), out.String()
}

// rawPart adds a part with a Content-Disposition as it is given.
func rawPart(t *testing.T, w *multipart.Writer, disposition, content string) {
	t.Helper()
	p, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}, "Content-Type": {"image/png"}})
	require.NoError(t, err)
	_, err = p.Write([]byte(content))
	require.NoError(t, err)
}

// TestUploadsAreWhatTheirTypeTakes: a program is no picture whatever it is called,
// and a file above its limit is refused with the limit.
func TestUploadsAreWhatTheirTypeTakes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	upload := func(kind, content string) reply {
		mediaType, body := multipartForm(t, func(w *multipart.Writer) { rawPart(t, w, `form-data; name="file"; filename="cat.png"`, content) })
		return b.member.send(t, http.MethodPost, "/uploads?name=inputs.x&type="+kind, mediaType, body)
	}
	program := upload("Image", "MZ\x90\x00\x03")
	require.Equal(t, http.StatusUnprocessableEntity, program.status)
	require.Contains(t, program.body, "a Windows program")
	require.Equal(t, http.StatusCreated, upload("Image", "\x89PNG\r\n\x1a\n....").status)
	require.Equal(t, http.StatusUnprocessableEntity, upload("Table", "\x7fELF").status)
	require.Equal(t, http.StatusUnprocessableEntity, upload("Report", "MZ").status)
	require.Equal(t, http.StatusCreated, upload("File", "MZ\x90\x00\x03").status)
	large := upload("File%28max_bytes%3D10%29", strings.Repeat("x", 11))
	require.Equal(t, http.StatusRequestEntityTooLarge, large.status, large.body)
	require.Contains(t, large.body, "larger than 10 B")
}

// TestLaunchLooksAtTheBytes: the API's way around the form.
func TestLaunchLooksAtTheBytes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.start(t)
	b.register(t, "name: looks\nversion: 1.0.0\ninputs: [{name: picture, type: Image}]\noperators: [{name: a, type: noop}]")
	launch := func(content string) reply {
		blob := b.member.send(t, http.MethodPost, "/api/v1/blobs?filename=cat.png", "image/png", content).object(t, http.StatusCreated)
		return b.member.post(t, "/api/v1/executions", `{"workflow": "looks", "inputs": {"picture": `+jsonText(t, blob)+`}}`)
	}
	p := launch("MZ\x90\x00").problem(t, http.StatusUnprocessableEntity)
	require.Contains(t, at(p, "inputs.picture"), "This is not an image")
	require.Less(t, launch("GIF89a....").status, 300)
}

// TestNamesOfUploadsStayInside: a name is a name, wherever it wants to lead.
func TestNamesOfUploadsStayInside(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, name := range []string{"../../etc/passwd", `..\..\evil.exe`, "/etc/passwd", "a/../../b", "..", ".", "...", "x\x00y", "con\r\nSet-Cookie: a=b", strings.Repeat("n", 5000), `\"><script>`} {
		mediaType, body := multipartForm(t, func(w *multipart.Writer) {
			rawPart(t, w, fmt.Sprintf("form-data; name=\"file\"; filename=%q", name), "content")
		})
		r := b.member.send(t, http.MethodPost, "/uploads?name=inputs.x&type=File", mediaType, body)
		assert.Less(t, r.status, 500, "%.50q", name)
		assert.Empty(t, r.header.Get("Set-Cookie"))
		assert.NotContains(t, r.body, "../", "%.50q", name)
		assert.NotContains(t, r.body, "<script>", "%.50q", name)
	}
	mediaType, body := multipartForm(t, func(w *multipart.Writer) {
		rawPart(t, w, `form-data; name="file"; filename="folder/../../../evil"`, "a")
		rawPart(t, w, `form-data; name="file"; filename="folder/good"`, "b")
	})
	r := b.member.send(t, http.MethodPost, "/uploads?name=inputs.x&type=Directory", mediaType, body)
	assert.Less(t, r.status, 500, r.body)
	assert.NotContains(t, r.body, "..")
}

// TestFormBombs: many parts, many fields, deep names, large texts, broken ones.
func TestFormBombs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.launched(t)
	const path = "/workflows/with.log/launch"
	parts, partsBody := multipartForm(t, func(w *multipart.Writer) {
		for i := range 50_001 {
			require.NoError(t, w.WriteField(fmt.Sprintf("f%d", i), ""))
		}
	})
	text, textBody := multipartForm(t, func(w *multipart.Writer) { require.NoError(t, w.WriteField("inputs.x", strings.Repeat("x", 9<<20))) })
	for name, tt := range map[string]struct {
		media, body string
		status      int
	}{
		"many parts":  {parts, partsBody, http.StatusUnprocessableEntity},
		"large text":  {text, textBody, http.StatusRequestEntityTooLarge},
		"large form":  {formType, "inputs.x=" + strings.Repeat("x", 9<<20), http.StatusRequestEntityTooLarge},
		"deep name":   {formType, "inputs" + strings.Repeat(".a", 100_000) + "=1", 0},
		"many rows":   {formType, strings.Repeat("inputs.l.999999999=1&", 1000), 0},
		"no boundary": {"multipart/form-data", "x", http.StatusUnprocessableEntity},
		"cut off":     {parts, partsBody[:100], 0},
		"part header": {"multipart/form-data; boundary=b", "--b\r\n" + strings.Repeat("X-A: b\r\n", 20_000) + "\r\nx\r\n--b--", http.StatusUnprocessableEntity},
	} {
		r := b.member.send(t, http.MethodPost, path, tt.media, tt.body)
		if tt.status != 0 {
			assert.Equal(t, tt.status, r.status, name)
		}
		assert.Less(t, r.status, 500, name)
	}
	for _, page := range []string{"/secrets", "/preferences/theme", "/account/keys"} {
		r := b.member.send(t, http.MethodPost, page, formType, "name="+strings.Repeat("x", 11<<20))
		assert.Less(t, r.status, 500, page)
		assert.GreaterOrEqual(t, r.status, 400, page)
	}
}

// TestSignInFormsAreBounded: anyone can send them.
func TestSignInFormsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	signIn := func(padding int) reply {
		media, body := multipartForm(t, func(w *multipart.Writer) {
			require.NoError(t, w.WriteField("padding", strings.Repeat("x", padding)))
			require.NoError(t, w.WriteField("token", b.links.Issue()))
		})
		return b.nobody.send(t, http.MethodPost, "/login", media, body)
	}
	require.Equal(t, http.StatusSeeOther, signIn(1<<10).status)
	require.Equal(t, http.StatusUnauthorized, signIn(11<<20).status, "the token is behind the limit")
}

// TestAnUploadedDefinitionLeavesNoFile: a form spills files to the disk.
func TestAnUploadedDefinitionLeavesNoFile(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	b := setup(t)
	media, body := multipartForm(t, func(w *multipart.Writer) {
		file, err := w.CreateFormFile("file", "large.yaml")
		require.NoError(t, err)
		_, err = fmt.Fprintf(file, "name: large\nversion: 1.0.0\noperators: [{name: a, type: noop}]\n%s", strings.Repeat("# a comment\n", 200_000))
		require.NoError(t, err)
	})
	r := b.admin.send(t, http.MethodPost, "/register", media, body)
	require.Less(t, r.status, 500, "it was read, whatever it says")
	left, err := filepath.Glob(filepath.Join(folder, "multipart-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestCompressedRequestsDoNotUnfold: a few kilobytes that are gigabytes.
func TestCompressedRequestsDoNotUnfold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var bomb bytes.Buffer
	w, err := gzip.NewWriterLevel(&bomb, gzip.BestCompression)
	require.NoError(t, err)
	zeros := make([]byte, 1<<20)
	for range 64 {
		_, err := w.Write(zeros)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.Less(t, bomb.Len(), 1<<20)
	zipped := b.admin.with("Content-Encoding", "gzip")
	for _, path := range []string{"/flowforge.v1.TaskService/Deliver", "/api/v1/executions", "/api/v1/workflows"} {
		r := zipped.send(t, http.MethodPost, path, "application/json", bomb.String())
		assert.GreaterOrEqual(t, r.status, 400, path)
		assert.Less(t, r.status, 500, "%s: %s", path, r.body)
	}
}
