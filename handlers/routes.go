package handlers

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/handlers/hooks"
	"github.com/flowforge/flowforge/handlers/leader"
	metaflowapi "github.com/flowforge/flowforge/handlers/metaflow"
	"github.com/flowforge/flowforge/handlers/tasks"
	"github.com/flowforge/flowforge/platform/unixrpc"
	"github.com/flowforge/flowforge/static"
	"github.com/flowforge/flowforge/web"
)

// Site is the complete site. It is safe for concurrent use.
type Site struct {
	chi.Router
	leader   *leader.Routes
	attempts *tasks.API
}

// Calls returns the methods that the runner on this machine calls for every attempt.
func (s *Site) Calls() []unixrpc.Method { return s.attempts.Calls() }

// ForLeader reports whether the leader of the scheduler answers r.
func (s *Site) ForLeader(r *http.Request) bool { return s.leader.Takes(s, r) }

// New returns the complete site. Each area registers its own routes.
func New(d Deps) *Site {
	marked := leader.New(d.ToLeader, d.Site.Fail)
	a := newAreas(d, marked)
	r := chi.NewRouter()
	r.Use(web.Identify, d.Site.Origin, d.Site.Log, web.Secure, d.Site.Transport, d.Site.Legible, d.bodies().Middleware)
	r.NotFound(d.Site.Handler(func(_ http.ResponseWriter, r *http.Request) error {
		return apperr.New(apperr.NotFound, "There is no page %s.", r.URL.Path)
	}))
	r.MethodNotAllowed(func(w http.ResponseWriter, req *http.Request) { d.Site.WrongMethod(w, req, methodsOf(r, req.URL.Path)) })
	r.Handle(static.Prefix+"*", static.Handler())
	d.health().mount(r)
	newWheels(d.Site).mount(r)
	attempts := d.tasks()
	r.Group(func(r chi.Router) { // reports of tasks, with the token of their attempt
		attempts.Mount(r)
	})
	hooks.New(hooks.Config{Site: d.Site, Triggers: d.Triggers}).Mount(r) // their senders have no account
	a.metaflow.Mount(r)                                                  // a run sends many requests, so they are not limited per minute
	r.Group(func(r chi.Router) {
		r.Use(d.Site.SameOrigin, d.Site.Authenticate, d.Site.Limit, d.Site.FromReplica(isList()), a.executions.ShortIDs)
		a.account.MountSignIn(r.With(d.bodies().Bound))
		a.api.Mount(r)
		a.scheduler.Mount(r)
		a.mountUploads(r)
		a.mountPages(r.With(d.bodies().Bound))
	})
	return &Site{r, marked, attempts}
}

// TaskRoutes returns only the routes that attempts call, and /healthz.
func TaskRoutes(d Deps) http.Handler {
	r := chi.NewRouter()
	r.Use(web.Identify, d.Site.Origin, d.Site.Log, web.Secure, d.Site.Legible, d.bodies().Middleware)
	r.NotFound(d.Site.Handler(func(_ http.ResponseWriter, r *http.Request) error {
		return apperr.New(apperr.NotFound, "The address %s does not exist in the API for tasks.", r.URL.Path)
	}))
	r.Get("/healthz", d.Site.Handler(d.health().healthz))
	d.tasks().Mount(r)
	d.records().Mount(r) // the tasks of Metaflow's flows record their run
	return r
}

// records is the metadata service of Metaflow.
func (d *Deps) records() *metaflowapi.API {
	return metaflowapi.New(metaflowapi.Config{Log: d.Log, Site: d.Site, Records: d.Metaflow, Now: d.Now, Signer: d.Signer, Executions: d.Executions})
}

// tasks is the API of attempts.
func (d *Deps) tasks() *tasks.API {
	return tasks.New(tasks.Config{
		Log: d.Log, Now: d.Now, Site: d.Site, Signer: d.Signer,
		Executions: d.Executions, Artifacts: d.Artifacts, Telemetry: d.Telemetry, Resident: d.Resident, Pools: d.Pools,
	})
}

// mountUploads adds the routes that have their own limits of request bodies.
func (a *areas) mountUploads(r chi.Router) {
	a.launch.MountUploads(r)
	a.forms.MountUploads(r)
	a.catalogue.MountUploads(r)
}

// mountPages adds the pages. Almost all of them require a signed-in reader.
func (a *areas) mountPages(r chi.Router) {
	a.home.Mount(r)
	a.account.Mount(r)
	a.admin.Mount(r)
	a.catalogue.Mount(r)
	a.forms.Mount(r)
	a.launch.Mount(r)
	a.executions.Mount(r)
	a.compare.Mount(r)
	a.runs.Mount(r)
	a.failures.Mount(r)
	a.artifacts.Mount(r)
	a.lineage.Mount(r)
	a.registry.Mount(r)
	a.datasets.Mount(r)
	a.quotas.Mount(r)
	a.sweeps.Mount(r)
	a.schedules.Mount(r)
	a.notifications.Mount(r)
	a.inbox.Mount(r)
	a.triggers.Mount(r)
	a.events.Mount(r)
	a.reports.Mount(r)
	a.backfills.Mount(r)
}

// methodsOf are the methods that a path supports.
func methodsOf(routes chi.Routes, path string) []string {
	var methods []string
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if routes.Match(chi.NewRouteContext(), m, path) {
			methods = append(methods, m)
		}
	}
	return methods
}

// bodies are the limits of request bodies.
func (d *Deps) bodies() web.Bodies {
	if d.Bodies == (web.Bodies{}) {
		return web.DefaultBodies()
	}
	return d.Bodies
}
