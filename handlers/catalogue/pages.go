// Package catalogue contains the pages of workflows, templates, types, secrets, secret
// stores and connections.
package catalogue

import (
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/access/secretstore"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/executions"
	"github.com/flowforge/flowforge/handlers/form"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/planview"
	"github.com/flowforge/flowforge/handlers/source"
	"github.com/flowforge/flowforge/views/ui"
)

// Config contains the dependencies of the pages.
type Config struct {
	Now          func() time.Time
	Workflows    *workflow.Service
	Schedules    *schedule.Service
	Executions   *query.Reader
	Catalogue    *catalogue.Service
	Secrets      *secret.Service
	SecretStores *secretstore.Service
	Connections  *connection.Service
	Packages     source.Packages
	Drawings     *planview.Drawings // layouts of the versions in use
	Forms        *form.Forms
	Rows         *executions.Rows
	Page         *page.Shell
	// AdminTabs are the pages of administration with that of an address selected.
	AdminTabs func(r *http.Request, address string) []ui.Tab
}

// Pages are the pages of the catalogue. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// MountUploads adds the routes with large bodies to r.
func (h *Pages) MountUploads(r chi.Router) {
	r.Post("/register", h.Page.Serve(h.register)) // with a file
}

// Mount adds the pages of the catalogue to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/register", h.Page.Serve(h.registerPage))
	r.Get("/workflows", h.Page.Serve(h.workflows))
	r.Get("/workflows/{name}", h.Page.Serve(h.workflow))
	r.Get("/workflows/{name}/diff", h.Page.Serve(h.versionDiff))
	r.Get("/workflows/{name}/versions/{version}", h.Page.Serve(h.workflowVersion))
	r.Get("/workflows/{name}/versions/{version}/package", h.Page.Serve(h.codePackage))
	r.Post("/workflows/{name}/archive", h.Page.Serve(h.archiveWorkflow))
	r.Get("/templates", h.Page.Serve(h.templates))
	r.Get("/templates/{name}", h.Page.Serve(h.template))
	r.Get("/types", h.Page.Serve(h.types))
	r.Get("/types/{name}", h.Page.Serve(h.typePage))
	r.Get("/types/{name}/renderer", h.Page.Serve(h.rendererPage))
	r.Get("/secrets", h.Page.Serve(h.secretsPage))
	r.Post("/secrets", h.Page.Serve(h.addSecret))
	r.Get("/secrets/{name}", h.Page.Serve(h.secretPage))
	r.Post("/secrets/{name}", h.Page.Serve(h.replaceSecret))
	r.Post("/secrets/{name}/delete", h.Page.Serve(h.deleteSecret))
	stores := storePages{h}
	r.Get("/admin/secret-stores", h.Page.Serve(stores.list))
	r.Get("/admin/secret-stores/new", h.Page.Serve(stores.new))
	r.Post("/admin/secret-stores", h.Page.Serve(stores.add))
	r.Get("/admin/secret-stores/{name}", h.Page.Serve(stores.store))
	r.Post("/admin/secret-stores/{name}", h.Page.Serve(stores.change))
	r.Post("/admin/secret-stores/{name}/test", h.Page.Serve(stores.test))
	r.Post("/admin/secret-stores/{name}/delete", h.Page.Serve(stores.remove))
	r.Get("/connections", h.Page.Serve(h.connectionsPage))
	r.Get("/connections/new", h.Page.Serve(h.newConnectionPage))
	r.Post("/connections", h.Page.Serve(h.addConnection))
	r.Get("/connections/{name}", h.Page.Serve(h.connectionPage))
	r.Post("/connections/{name}", h.Page.Serve(h.changeConnection))
	r.Post("/connections/{name}/test", h.Page.Serve(h.testConnection))
	r.Post("/connections/{name}/delete", h.Page.Serve(h.deleteConnection))
}
