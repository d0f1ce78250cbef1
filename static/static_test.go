package static_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flowforge/flowforge/static"
)

func get(t *testing.T, target string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	static.Handler().ServeHTTP(w, r)
	return w.Result()
}

func TestHandlerServesImmutableFiles(t *testing.T) {
	t.Parallel()
	for name, contentType := range map[string]string{
		"css/app.css":                      "text/css; charset=utf-8",
		"js/app.js":                        "text/javascript; charset=utf-8",
		"vendor/htmx.js":                   "text/javascript; charset=utf-8",
		"icons/icon.svg":                   "image/svg+xml",
		"fonts/inter-latin-variable.woff2": "font/woff2",
	} {
		res := get(t, static.URL(name))
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != contentType {
			t.Errorf("%s: %d %q, want 200 %q", name, res.StatusCode, res.Header.Get("Content-Type"), contentType)
		}
		if !strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: Cache-Control %q is not immutable", name, res.Header.Get("Cache-Control"))
		}
	}
	if res := get(t, "/static/css/app.css"); res.StatusCode != http.StatusOK || res.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("plain address: %d %q", res.StatusCode, res.Header.Get("Cache-Control"))
	}
	if res := get(t, "/static/css/none.css"); res.StatusCode != http.StatusNotFound {
		t.Errorf("missing file: %d", res.StatusCode)
	}
	etag := get(t, static.URL("css/app.css")).Header.Get("ETag")
	if res := get(t, static.URL("css/app.css"), "If-None-Match", etag); res.StatusCode != http.StatusNotModified {
		t.Errorf("revalidation: %d", res.StatusCode)
	}
}

func TestStylesheetKeepsItsBudget(t *testing.T) {
	t.Parallel()
	res := get(t, static.URL(static.Stylesheet), "Accept-Encoding", "br, gzip")
	if res.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("Content-Encoding %q", res.Header.Get("Content-Encoding"))
	}
	packed, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if len(packed) > 20<<10 {
		t.Errorf("the stylesheet takes %d bytes gzipped, the budget is 20 kB", len(packed))
	}
	zr, err := gzip.NewReader(strings.NewReader(string(packed)))
	if err != nil {
		t.Fatal(err)
	}
	css, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(css), "@layer reset, tokens") {
		t.Error("the stylesheet does not begin with the tokens")
	}
	if m := regexp.MustCompile(`/\*|\n[ \t\n]`).FindString(string(css)); m != "" {
		t.Errorf("the stylesheet has comments or indentation: %q", m)
	}
	own, _, _ := strings.Cut(string(css), ".uplot, .uplot *")
	if n := strings.Count(own, "!important"); n > 5 {
		t.Errorf("%d times !important, at most 5", n)
	}
	if m := regexp.MustCompile(`(?m)^\s*#[a-z]`).FindString(own); m != "" {
		t.Errorf("an id selector: %q", m)
	}
}

// TestIconsHaveTheirStyles: the check of a succeeded state and the cross of a failed one are drawn by
// classes that only the sprite uses.
func TestIconsHaveTheirStyles(t *testing.T) {
	t.Parallel()
	css, err := io.ReadAll(get(t, static.Prefix+static.Stylesheet).Body)
	if err != nil {
		t.Fatal(err)
	}
	classes := regexp.MustCompile(`class="([^"]+)"`).FindAllStringSubmatch(static.Sprite(), -1)
	if len(classes) == 0 {
		t.Fatal("no class in the sprite")
	}
	for _, m := range classes {
		for class := range strings.FieldsSeq(m[1]) {
			if !strings.Contains(string(css), "."+class+" {") {
				t.Errorf("the stylesheet has no rule for .%s of the icon sprite", class)
			}
		}
	}
}

// TestPagesLinkOnlyTheirOwnStyles: the shared stylesheet leaves out each file that a page links.
func TestPagesLinkOnlyTheirOwnStyles(t *testing.T) {
	t.Parallel()
	templates, err := filepath.Glob("../views/*.templ")
	if err != nil || len(templates) == 0 {
		t.Fatal("no templates", err)
	}
	shared := get(t, static.Prefix+static.Stylesheet).Body
	all, err := io.ReadAll(shared)
	if err != nil {
		t.Fatal(err)
	}
	for _, template := range templates {
		text, err := os.ReadFile(template)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range regexp.MustCompile(`asset\("(css/[a-z]+\.css)"\)`).FindAllStringSubmatch(string(text), -1) {
			if link[1] == static.Stylesheet {
				continue
			}
			own, err := os.ReadFile(link[1])
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(all, own) {
				t.Errorf("%s links %s, which is also in the shared stylesheet", template, link[1])
			}
		}
	}
}

func TestURLPanicsForAMissingFile(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	static.URL("css/none.css")
}

// TestVendoredFilesHaveTheirLicence: every vendored file has its licence text alongside it.
func TestVendoredFilesHaveTheirLicence(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("vendor/*.js")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no vendored scripts", err)
	}
	texts := []string{"fonts/OFL.txt"}
	for _, path := range scripts {
		texts = append(texts, strings.TrimSuffix(path, ".js")+".LICENSE")
	}
	for _, path := range texts {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}
