// Package static embeds the files that the browser fetches: hand-written CSS, small ES
// modules, the font, the icon sprite and the vendored scripts. It serves them under a hash
// of the whole tree, so that every URL is immutable while relative imports and font URLs
// stay plain.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Prefix is where Handler is mounted.
const Prefix = "/static/"

// Stylesheet is the shared stylesheet: tokens, base, then every other file in css in
// alphabetical order, then the styles of the chart library. Styles that only one page
// needs, such as css/docs.css and css/grid.css, are linked by that page.
const Stylesheet = "css/app.css"

// ownStyles are the style files that the pages that need them link.
func ownStyles() []string {
	return []string{
		"css/compare.css", "css/datasets.css", "css/diff.css", "css/docs.css", "css/events.css", "css/grid.css", "css/launchcode.css", "css/lineage.css",
		"css/inbox.css", "css/labels.css", "css/notifications.css", "css/preview.css", "css/reports.css", "css/runtable.css", "css/schedules.css", "css/sweeps.css", "css/switches.css", "css/triggers.css",
	}
}

//go:embed css fonts icons js vendor
var files embed.FS

// asset is one embedded file, ready to send.
type asset struct {
	body, gzipped []byte // gzipped is nil where it would not be smaller
	contentType   string
	etag          string
}

// tree is every asset by its path below Prefix, and the hash of them all.
type tree struct {
	hash   string
	assets map[string]asset
}

//nolint:gochecknoglobals // computed once from the embedded files, never written again
var load = sync.OnceValue(build)

// URL returns the immutable URL of a file, such as "css/app.css". It panics for a name
// that is not embedded, because a template may only name files that exist.
func URL(name string) string {
	t := load()
	if _, ok := t.assets[name]; !ok {
		panic(fmt.Sprintf("static: no file %q", name))
	}
	return Prefix + t.hash + "/" + name
}

// Sprite returns the icon sprite for the layout to inline once per page: symbols
// "i-home", "i-RUNNING" and so on. Inline, because styles of the page do not reach
// into an external sprite.
func Sprite() string { return string(load().assets["icons/sprite.svg"].body) }

// Handler serves the files below Prefix. Clients may cache an address from URL for a year
// and must revalidate a plain or outdated address on each use.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		t := load()
		a, current, ok := t.find(strings.TrimPrefix(r.URL.Path, Prefix))
		if !ok {
			http.NotFound(w, r)
			return
		}
		a.serve(w, r, current)
	})
}

// find resolves a path with or without the leading hash.
func (t tree) find(name string) (a asset, current, ok bool) {
	if a, ok = t.assets[name]; ok {
		return a, false, true
	}
	hash, rest, _ := strings.Cut(name, "/")
	a, ok = t.assets[rest]
	return a, hash == t.hash, ok && len(hash) == len(t.hash)
}

func (a asset) serve(w http.ResponseWriter, r *http.Request, immutable bool) {
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", a.etag)
	if immutable {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	body := a.body
	if a.gzipped != nil {
		h.Set("Vary", "Accept-Encoding")
		if AcceptsGzip(r.Header.Get("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			body = a.gzipped
		}
	}
	if r.Header.Get("If-None-Match") == a.etag {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // the client may have disconnected
	}
}

// AcceptsGzip reports whether an Accept-Encoding header allows gzip.
func AcceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if coding == "gzip" {
			return !strings.Contains(strings.ReplaceAll(params, " ", ""), "q=0") || strings.Contains(params, "q=0.")
		}
	}
	return false
}

// build reads the embedded files. They are part of the binary, so an error means a broken
// build and panics.
func build() tree {
	t := tree{assets: map[string]asset{}}
	bodies := map[string][]byte{}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		bodies[name], err = files.ReadFile(name)
		return err
	})
	if err != nil {
		panic(fmt.Sprintf("static: read the embedded files: %v", err))
	}
	bodies[Stylesheet] = stylesheet(bodies)
	names := make([]string, 0, len(bodies))
	for name := range bodies {
		names = append(names, name)
	}
	slices.Sort(names)
	all := sha256.New()
	for _, name := range names {
		sum := sha256.Sum256(bodies[name])
		fmt.Fprintf(all, "%s %x\n", name, sum)
		t.assets[name] = asset{
			body: bodies[name], gzipped: compressed(name, bodies[name]),
			contentType: contentType(name), etag: `"` + hex.EncodeToString(sum[:12]) + `"`,
		}
	}
	t.hash = hex.EncodeToString(all.Sum(nil))[:12]
	return t
}

// stylesheet concatenates the style files in the order of their layers.
func stylesheet(bodies map[string][]byte) []byte {
	order := []string{"css/tokens.css", "css/base.css"}
	var rest []string
	for name := range bodies {
		if path.Dir(name) == "css" && !slices.Contains(order, name) && !slices.Contains(ownStyles(), name) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	var out bytes.Buffer
	for _, name := range slices.Concat(order, rest, []string{"vendor/uplot.css"}) {
		out.Write(compact(bodies[name]))
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// compact removes comments, indentation and empty lines from a stylesheet, which browsers do not
// need. No string in the style files contains a comment.
func compact(css []byte) []byte {
	css = regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAll(css, nil)
	return bytes.TrimSpace(regexp.MustCompile(`\s*\n\s*`).ReplaceAll(css, []byte("\n")))
}

func compressed(name string, body []byte) []byte {
	if path.Ext(name) == ".woff2" {
		return nil
	}
	var out bytes.Buffer
	zw, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil
	}
	_, _ = zw.Write(body) // a bytes.Buffer does not fail
	_ = zw.Close()
	if out.Len() >= len(body) {
		return nil
	}
	return out.Bytes()
}

func contentType(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".woff2":
		return "font/woff2"
	default:
		return "text/plain; charset=utf-8"
	}
}
