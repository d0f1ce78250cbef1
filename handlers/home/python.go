package home

import (
	"net/http"

	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/release"
	"github.com/flowforge/flowforge/sdk"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// python describes how to use the Python package with this server.
func (h *Pages) python(w http.ResponseWriter, r *http.Request) error {
	server := request.PublicURL(r, h.PublicURL)
	return web.Render(w, r, http.StatusOK, views.PythonPage(views.Python{
		Page:     h.Page.Base(r, "Python", views.SectionPython),
		Install:  "pip install " + server + "/sdk/" + sdk.WheelName(release.Version),
		Metaflow: "pip install " + server + "/sdk/" + sdk.Packages()[1].WheelName(release.Version),
		Login:    "flowforge login " + server,
		Run:      "python flow.py\nflowforge run flow.py --lr 0.1 --kinds fast --kinds exact\nflowforge dev flow.py\nflowforge deploy flow.py",
	}))
}
