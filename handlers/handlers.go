// Package handlers holds the pages and the JSON API, one file per feature;
// routes.go is the whole route table. Handlers read the request, call a service
// and draw the answer: they decide nothing.
package handlers

import (
	"context"
	"log/slog"
	"time"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/identity"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/compute/resident"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/retention"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/web"

	"github.com/flowforge/flowforge/handlers/request"

	"github.com/flowforge/flowforge/handlers/content"
)

// Deps is what the handlers work with.
type Deps struct {
	Log      *slog.Logger
	Now      func() time.Time
	Site     *web.Site
	Sessions *web.Sessions
	Links    *auth.LoginLinks
	Identity *identity.Service
	Policies *auth.Policies // the projects to choose among

	Workflows  *workflow.Service
	Executions *execution.Service
	Artifacts  *artifact.Service
	Catalogue  *catalogue.Service
	Telemetry  *telemetry.Service
	Secrets    *secret.Service
	Tenancy    *tenancy.Service
	Audit      *audit.Log
	Quotas     *quota.Service
	Retention  *retention.Service
	Resident   *resident.Service // nil: there are no warm pods
	Signer     auth.Signer       // of task tokens
	Bodies     web.Bodies        // bounds of request bodies; zero takes the defaults
	Checks     []Check           // what /readyz asks
	// ToLeader is nil in a process that always leads.
	ToLeader  ToLeader
	PublicURL string // where people reach this server; "" is where the request says
}

// Check is one dependency that /readyz asks.
type Check struct {
	Name     string
	Required bool // without it the server cannot do its work
	Ready    func(ctx context.Context) error
}

// Handlers is the set of all handlers; routes.go gives each its path.
type Handlers struct {
	Deps
	scope    request.Scope
	content  *content.Content
	drawings *drawings // layouts of the versions in use
}

func newHandlers(d Deps) *Handlers {
	return &Handlers{
		Deps:  d,
		scope: request.Scope{Site: d.Site, Executions: d.Executions, Artifacts: d.Artifacts, Workflows: d.Workflows},
		content: &content.Content{
			Log: d.Log, Now: d.Now, Site: d.Site, Executions: d.Executions, Artifacts: d.Artifacts, Telemetry: d.Telemetry, Audit: d.Audit,
		},
		drawings: newDrawings(),
	}
}
