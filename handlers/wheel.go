package handlers

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/release"
	"github.com/flowforge/flowforge/sdk"
	"github.com/flowforge/flowforge/web"
)

// wheels serves the Python package of this version: pip installs it by its address, or by the
// address of the folder with --find-links.
type wheels struct {
	site  *web.Site
	build func() ([]byte, error)
}

func newWheels(site *web.Site) wheels {
	return wheels{site, sync.OnceValues(func() ([]byte, error) { return sdk.Wheel(release.Version) })}
}

func (s wheels) mount(r chi.Router) {
	r.Get("/sdk", s.site.Handler(s.index))
	r.Get("/sdk/", s.site.Handler(s.index))
	r.Get("/sdk/{file}", s.site.Handler(s.wheel))
}

// index lists the wheel as pip expects it.
func (s wheels) index(w http.ResponseWriter, _ *http.Request) error {
	name := sdk.WheelName(release.Version)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<!DOCTYPE html>\n<title>FlowForge for Python</title>\n<a href=\"/sdk/%s\">%s</a>\n", name, name)
	return nil
}

func (s wheels) wheel(w http.ResponseWriter, r *http.Request) error {
	name := sdk.WheelName(release.Version)
	if file := chi.URLParam(r, "file"); file != name {
		return apperr.New(apperr.NotFound, "There is no file %s. This server has %s.", file, name)
	}
	content, err := s.build()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	_, _ = w.Write(content) // a client that has gone reads nothing
	return nil
}
