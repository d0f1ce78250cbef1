// Package handlers holds the pages and the JSON API, one file per feature;
// routes.go is the whole route table. Handlers read the request, call a service
// and draw the answer: they decide nothing.
package handlers

import (
	"context"
	"log/slog"
	"time"

	"github.com/flowforge/flowforge/artifact"
	"github.com/flowforge/flowforge/audit"
	"github.com/flowforge/flowforge/auth"
	"github.com/flowforge/flowforge/catalogue"
	"github.com/flowforge/flowforge/execution"
	"github.com/flowforge/flowforge/identity"
	"github.com/flowforge/flowforge/quota"
	"github.com/flowforge/flowforge/resident"
	"github.com/flowforge/flowforge/retention"
	"github.com/flowforge/flowforge/secret"
	"github.com/flowforge/flowforge/telemetry"
	"github.com/flowforge/flowforge/tenancy"
	"github.com/flowforge/flowforge/web"
	"github.com/flowforge/flowforge/workflow"
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
	drawings *drawings // layouts of the versions in use
}
