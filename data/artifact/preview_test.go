package artifact

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact/preview"
)

func previewed(t *testing.T, mediaType string, content []byte) (Preview, error) {
	t.Helper()
	s := newDisk(t)
	blob, err := s.Put(t.Context(), bytes.NewReader(content), "")
	require.NoError(t, err)
	r, err := s.Open(t.Context(), blob.SHA256)
	require.NoError(t, err)
	defer r.Close()
	return previewOf(t.Context(), Part{Artifact: Artifact{SHA256: blob.SHA256, MediaType: mediaType}}, preview.File{ReaderAt: newRanges(r), Size: r.Size()}, Selection{})
}

func TestPreviewKinds(t *testing.T) {
	t.Parallel()
	var picture bytes.Buffer
	require.NoError(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 7, 5))))
	tests := []struct {
		name, mediaType, content string
		want                     PreviewKind
	}{
		{"text", "text/plain", "hello", PreviewText},
		{"empty", "text/plain", "", PreviewText},
		{"json", "application/json", `{"a":[1,2]}`, PreviewJSON},
		{"json by its form", "application/octet-stream", `{"a":"b"}`, PreviewJSON},
		{"metrics", "application/json", `{"accuracy":0.97,"loss":1e-3}`, PreviewMetrics},
		{"confusion", "application/json", `{"kind":"confusion_matrix","labels":["a","b"],"matrix":[[3,1],[0,4]]}`, PreviewConfusion},
		{"confusion that is not square", "application/json", `{"kind":"confusion_matrix","labels":["a","b"],"matrix":[[3],[0]]}`, PreviewJSON},
		{"markdown", "text/markdown", "# Hi", PreviewMarkdown},
		{"html", "text/html", "<script>alert(1)</script>", PreviewReport},
		{"svg is never drawn", "image/svg+xml", "<svg onload='alert(1)'/>", PreviewText},
		{"pickle", "application/octet-stream", "\x80\x04N.", PreviewModel},
		{"binary called text", "text/plain", "a\x00b", PreviewBinary},
		{"image", "image/png", picture.String(), PreviewImage},
		{"not an image", "image/png", "hello", PreviewImage},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := previewed(t, tt.mediaType, []byte(tt.content))
			require.NoError(t, err)
			require.Equal(t, tt.want, p.Kind)
		})
	}
}

func TestPreviewIsBounded(t *testing.T) {
	t.Parallel()
	p, err := previewed(t, "text/plain", bytes.Repeat([]byte("ä"), 1<<20))
	require.NoError(t, err)
	require.True(t, p.Truncated)
	require.LessOrEqual(t, len(p.Text), preview.TextBytes)
	require.NotContains(t, p.Text, "\ufffd", "no character is cut in two")
}

// TestDeepJSONIsNotIndented: indentation would make gigabytes of a deep document of some kilobytes.
func TestDeepJSONIsNotIndented(t *testing.T) {
	t.Parallel()
	p, err := previewed(t, "application/json", []byte(strings.Repeat("[", 500)+strings.Repeat("1,", 20_000)+"1"+strings.Repeat("]", 500)))
	require.NoError(t, err)
	require.Equal(t, PreviewJSON, p.Kind)
	require.Empty(t, p.Text)
	require.NotNil(t, p.Tree)
	for _, doc := range []string{`{"a":[1,{"b":"x"},[[]]],"c":{}}`, `["[[[[,,,,\"[[", {"{":"}"}]`, ` [ 1 , 2 ] `, `7`} {
		var indented bytes.Buffer
		require.NoError(t, json.Indent(&indented, []byte(doc), "", "  "))
		require.GreaterOrEqual(t, indentedSize([]byte(doc)), indented.Len(), doc)
		require.Less(t, indentedSize([]byte(doc)), 2*indented.Len()+10, doc)
	}
}

// TestPreviewMarkdownTables: columns of numbers are aligned, and tasks show whether they are done.
func TestPreviewMarkdownTables(t *testing.T) {
	t.Parallel()
	p, err := previewed(t, "text/markdown", []byte("| a | b |\n|---|---:|\n| x | 1 |\n\n- [x] done\n- [ ] open\n"))
	require.NoError(t, err)
	for _, part := range []string{`<td align="right">1</td>`, "☑ done", "☐ open"} {
		require.Contains(t, p.HTML, part)
	}
}

func TestPreviewMarkdownIsHarmless(t *testing.T) {
	t.Parallel()
	p, err := previewed(t, "text/markdown", []byte("[x](javascript:alert(1)) <img src=x onerror=alert(1)> <script>alert(1)</script> **bold**"))
	require.NoError(t, err)
	require.Contains(t, p.HTML, "<strong>bold</strong>")
	for _, bad := range []string{"javascript:", "onerror", "<script"} {
		require.NotContains(t, p.HTML, bad)
	}
}

// TestPreviewMarkdownLoadsNothing: an image of another server would reveal the reader
// to it.
func TestPreviewMarkdownLoadsNothing(t *testing.T) {
	t.Parallel()
	p, err := previewed(t, "text/markdown", []byte("![x](https://evil.example/x.png) <img src=\"//evil.example/y.png\" srcset=\"https://evil.example/z.png 2x\"> <video poster=https://evil.example/v src=https://evil.example/w></video>"))
	require.NoError(t, err)
	require.NotRegexp(t, `<img|<video|src|poster`, p.HTML, "the image is a link, which loads nothing")
}

// TestPictureBombsAreNotDrawn: a few bytes that a browser would expand to gigabytes.
func TestPictureBombsAreNotDrawn(t *testing.T) {
	t.Parallel()
	for size, want := range map[uint32]PreviewKind{10: PreviewImage, 60_000: PreviewBinary} {
		header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("IHDR"), size), size)
		header = append(header, 8, 6, 0, 0, 0)
		png := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), header...)
		png = binary.BigEndian.AppendUint32(png, crc32.ChecksumIEEE(header))
		p, err := previewed(t, "image/png", png)
		require.NoError(t, err)
		require.Equal(t, want, p.Kind, size)
	}
}

func TestDirectoryPathsStayInside(t *testing.T) {
	t.Parallel()
	good := `{"entries":[{"path":"a/b.txt","sha256":"` + helloHash + `","size":5}]}`
	d, err := ReadDirectory(strings.NewReader(good))
	require.NoError(t, err)
	require.Len(t, d.Entries, 1)
	for _, bad := range []string{"../x", "/etc/passwd", "a/../../x", "a//b", "", ".."} {
		_, err := ReadDirectory(strings.NewReader(strings.Replace(good, "a/b.txt", bad, 1)))
		require.True(t, apperr.Is(err, apperr.Invalid), bad)
	}
}

func TestSafeFilename(t *testing.T) {
	t.Parallel()
	tests := []struct{ filename, name, kind, mediaType, want string }{
		{"model.bin", "model", "Model", "", "model.bin"},
		{"../../etc/passwd", "x", "File", "", "passwd"},
		{`C:\temp\a.txt`, "x", "File", "", "a.txt"},
		{"", "report", "Report", "text/html", "report.html"},
		{"train", "train", "Dataset", "text/csv", "train.csv"},
		{"a\r\nb\".txt", "x", "File", "", "a__b_.txt"},
		{"..", "weights", "Model", "application/json", "weights.json"},
		{".", "", "File", "", "artifact"},
		{strings.Repeat("ä", 300), "x", "File", "", strings.Repeat("ä", maxFilename)},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, SafeFilename(tt.filename, tt.name, tt.kind, tt.mediaType), tt.filename)
	}
}
