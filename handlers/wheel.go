package handlers

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/release"
	"github.com/flowforge/flowforge/sdk"
	"github.com/flowforge/flowforge/web"
)

// wheels serves the Python packages of this version: pip installs them by their addresses, or by the
// address of the folder with --find-links.
type wheels struct {
	site  *web.Site
	files map[string]func() ([]byte, error)
}

func newWheels(site *web.Site) wheels {
	w := wheels{site, map[string]func() ([]byte, error){}}
	for _, p := range sdk.Packages() {
		w.files[p.WheelName(release.Version)] = sync.OnceValues(func() ([]byte, error) { return p.Wheel(release.Version) })
	}
	return w
}

func (s wheels) mount(r chi.Router) {
	r.Get("/sdk", s.site.Handler(s.index))
	r.Get("/sdk/", s.site.Handler(s.index))
	r.Get("/sdk/{file}", s.site.Handler(s.wheel))
}

// index lists the wheels as pip expects it.
func (s wheels) index(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, "<!DOCTYPE html>\n<title>FlowForge for Python</title>\n")
	for _, name := range s.names() {
		fmt.Fprintf(w, "<a href=\"/sdk/%s\">%s</a>\n", name, name)
	}
	return nil
}

func (s wheels) names() []string { return slices.Sorted(maps.Keys(s.files)) }

func (s wheels) wheel(w http.ResponseWriter, r *http.Request) error {
	file := chi.URLParam(r, "file")
	build, ok := s.files[file]
	if !ok {
		return apperr.New(apperr.NotFound, "There is no file %s. This server has %s.", file, strings.Join(s.names(), " and "))
	}
	content, err := build()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	_, _ = w.Write(content) // a client that has gone reads nothing
	return nil
}
