package handlers

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/handlers/tasks"
	"github.com/flowforge/flowforge/static"
	"github.com/flowforge/flowforge/web"

	"github.com/flowforge/flowforge/handlers/api"
)

// Routes returns the whole site: its route table is below.
func Routes(d Deps) http.Handler {
	h := newHandlers(d)
	r := chi.NewRouter()
	r.Use(web.Identify, d.Site.Origin, d.Site.Log, web.Secure, d.Site.Transport, d.Site.Legible, h.bodies().Middleware)
	r.NotFound(h.open(func(_ http.ResponseWriter, r *http.Request) error {
		return apperr.New(apperr.NotFound, "There is no page %s.", r.URL.Path)
	}))
	r.MethodNotAllowed(func(w http.ResponseWriter, req *http.Request) { d.Site.WrongMethod(w, req, methodsOf(r, req.URL.Path)) })
	r.Handle(static.Prefix+"*", static.Handler())
	r.Get("/healthz", h.open(h.healthz))
	r.Get("/readyz", h.open(h.readyz))
	r.Group(func(r chi.Router) { // reports of tasks, with the token of their attempt
		h.tasks().Mount(r)
	})
	r.Group(func(r chi.Router) {
		r.Use(d.Site.SameOrigin, d.Site.Authenticate, d.Site.Limit, h.shortIDs, h.atLeader)
		r.Get("/login", h.open(h.loginPage))
		r.Post("/login", h.open(h.login))
		r.Get("/login/{provider}", h.open(h.providerLogin))
		r.Get("/login/{provider}/callback", h.open(h.providerCallback))
		r.Post("/preferences/theme", h.open(h.setTheme))
		r.Post("/preferences/keys", h.open(h.setKeys))
		r.Post("/preferences/project", h.page(h.setProject))
		h.api().Mount(r)
		h.mountScheduler(r)
		h.pages(r)
	})
	return r
}

// TaskRoutes returns what attempts call, and nothing else but /healthz.
func TaskRoutes(d Deps) http.Handler {
	h := newHandlers(d)
	r := chi.NewRouter()
	r.Use(web.Identify, d.Site.Origin, d.Site.Log, web.Secure, d.Site.Legible, h.bodies().Middleware)
	r.NotFound(h.open(func(_ http.ResponseWriter, r *http.Request) error {
		return apperr.New(apperr.NotFound, "There is nothing at %s for tasks.", r.URL.Path)
	}))
	r.Get("/healthz", h.open(h.healthz))
	h.tasks().Mount(r)
	return r
}

// tasks is the API of attempts.
func (h *Handlers) tasks() *tasks.API {
	return tasks.New(tasks.Config{
		Log: h.Log, Now: h.Now, Site: h.Site, Signer: h.Signer,
		Executions: h.Executions, Artifacts: h.Artifacts, Telemetry: h.Telemetry, Resident: h.Resident,
	})
}

// api is the JSON API.
func (h *Handlers) api() *api.API {
	return api.New(api.Config{
		Log: h.Log, Now: h.Now, Site: h.Site, Links: h.Links, Identity: h.Identity, Policies: h.Policies, PublicURL: h.PublicURL,
		Workflows: h.Workflows, Executions: h.Executions, Artifacts: h.Artifacts, Catalogue: h.Catalogue, Telemetry: h.Telemetry,
		Secrets: h.Secrets, Tenancy: h.Tenancy, Audit: h.Audit, Quotas: h.Quotas, Retention: h.Retention,
		Scope: h.scope, Content: h.content,
	})
}

// pages are what people see; every one needs a signed-in reader.
func (h *Handlers) pages(large chi.Router) {
	large.Post("/workflows/{name}/launch", h.page(h.launch)) // with files
	large.Post("/executions/{id}/resume", h.page(h.resume))  // with files
	large.Post("/uploads", h.page(h.upload))
	large.Post("/register", h.page(h.register)) // with a file

	r := large.With(h.bodies().Bound)
	r.Post("/logout", h.open(h.logout))
	h.accountRoutes(r)
	h.adminRoutes(r)
	r.Get("/", h.page(h.home))
	r.Get("/home/stream", h.page(h.homeStream))
	r.Get("/search", h.page(h.search))
	r.Get("/projects", h.page(h.projectList))
	r.Get("/docs", h.page(h.docsPage))

	r.Get("/register", h.page(h.registerPage))
	r.Get("/workflows", h.page(h.workflows))
	r.Get("/workflows/{name}", h.page(h.workflow))
	r.Get("/workflows/{name}/versions/{version}", h.page(h.workflowVersion))
	r.Post("/workflows/{name}/archive", h.page(h.archiveWorkflow))
	r.Get("/workflows/{name}/launch", h.page(h.launchForm))
	r.Get("/launch/{id}", h.page(h.launchByID))
	r.Get("/typeahead", h.page(h.typeahead))
	r.Get("/typeahead/preview", h.page(h.typeaheadPreview))

	r.Get("/approvals", h.page(h.approvals))
	r.Get("/templates", h.page(h.templates))
	r.Get("/templates/{name}", h.page(h.template))
	r.Get("/executions", h.page(h.executions))
	r.Get("/executions/stream", h.page(h.executionsStream))
	r.Get("/executions/{id}", h.page(h.execution))
	r.Get("/executions/{id}/stream", h.page(h.executionStream))
	r.Get("/executions/{id}/resume", h.page(h.resumeForm))
	r.Get("/executions/{id}/cancel", h.page(h.cancelPage))
	r.Post("/executions/{id}/cancel", h.page(h.cancel))
	r.Post("/executions/{id}/pause", h.page(h.pause))
	r.Post("/executions/{id}/unpause", h.page(h.unpause))
	r.Post("/executions/{id}/keep", h.page(h.keep))
	r.Post("/executions/{id}/release", h.page(h.release))
	r.Get("/executions/{id}/commands/{command}", h.page(h.commandPage))
	r.Post("/executions/{id}/commands/{command}", h.page(h.command))
	r.Get("/executions/{id}/nodes/{node}", h.page(h.node))
	r.Get("/executions/{id}/nodes/{node}/stream", h.page(h.nodeStream))
	r.Get("/waiting", h.page(h.waiting))
	r.Get("/waiting/stream", h.page(h.waitingStream))
	r.Get("/executions/{id}/events", h.page(h.events))
	r.Get("/executions/{id}/metrics.csv", h.page(h.metricCSV))
	r.Get("/executions/{id}/logs", h.page(h.logs))
	r.Get("/executions/{id}/logs/stream", h.page(h.logStream))
	r.Get("/executions/{id}/logs.txt", h.page(h.logText))

	r.Get("/semaphores", h.page(h.semaphores))
	r.Post("/semaphores", h.page(h.setSemaphore))
	h.failureRoutes(r)
	r.Get("/artifacts", h.page(h.artifacts))
	r.Get("/artifacts/{id}", h.page(h.artifact))
	r.Get("/artifacts/{id}/download", h.page(h.content.Download))
	r.Head("/artifacts/{id}/download", h.page(h.content.Download))
	r.Get("/artifacts/{id}/frame", h.page(h.content.Frame))
	r.Get("/admin/quotas", h.page(h.quotas))
	r.Get("/admin/quotas.csv", h.page(h.quotaCSV))
	r.Get("/admin/quotas/stream", h.page(h.quotaStream))
	r.Post("/admin/quotas/{id}", h.page(h.saveQuota))
	r.Post("/admin/quotas/{id}/preview", h.page(h.previewQuota))
	r.Get("/teams/mine", h.page(h.myTeam))
	r.Get("/teams/{id}", h.page(h.team))
	r.Get("/teams/{id}/stream", h.page(h.teamStream))
	r.Get("/types", h.page(h.types))
	r.Get("/types/{name}", h.page(h.typePage))
	r.Get("/secrets", h.page(h.secretsPage))
	r.Post("/secrets", h.page(h.addSecret))
	r.Get("/secrets/{name}", h.page(h.secretPage))
	r.Post("/secrets/{name}", h.page(h.replaceSecret))
	r.Post("/secrets/{name}/delete", h.page(h.deleteSecret))
	r.Get("/dev/gallery", h.page(h.gallery))
	r.Get("/dev/gallery/{view}", h.page(h.gallery))
}

// methodsOf are the methods that a path takes.
func methodsOf(routes chi.Routes, path string) []string {
	var methods []string
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if routes.Match(chi.NewRouteContext(), m, path) {
			methods = append(methods, m)
		}
	}
	return methods
}

// bodies are the bounds of the bodies of requests.
func (h *Handlers) bodies() web.Bodies {
	if h.Bodies == (web.Bodies{}) {
		return web.DefaultBodies()
	}
	return h.Bodies
}

// open serves f to everybody.
func (h *Handlers) open(f web.HandlerFunc) http.HandlerFunc { return h.Site.Handler(f) }

// page serves f to signed-in readers.
func (h *Handlers) page(f web.HandlerFunc) http.HandlerFunc { return h.scope.Page(f) }
