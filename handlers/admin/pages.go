// Package admin contains the pages for administrators: the tenancy tree, users, the audit
// log, the cluster and storage.
package admin

import (
	"context"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/identity"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/compute/pool"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/retention"
	"github.com/flowforge/flowforge/handlers/content"
	"github.com/flowforge/flowforge/handlers/page"
)

// Config contains the dependencies of the pages.
type Config struct {
	Now        func() time.Time
	Identity   *identity.Service
	Executions *query.Reader
	Tenancy    *tenancy.Service
	Audit      *audit.Log
	Quotas     *quota.Service
	Retention  *retention.Service
	Content    *content.Content
	Page       *page.Shell
	WarmPython WarmPython // nil: tasks do not run on this machine
	Replica    Replica    // nil: there is no read replica
	Pools      *pool.Service
	PublicURL  string // of this server; "": that of the request
}

// WarmPython returns the number of warm Python processes and their memory in bytes.
type WarmPython func(ctx context.Context) (processes int, memory int64, err error)

// Replica returns what this server knows about the read replica.
type Replica func() ReplicaState

// ReplicaState is the state of the read replica.
type ReplicaState struct {
	Usable      bool
	Problem     string // why lists are not read from it
	Known       bool   // Lag was measured
	Lag, MaxLag time.Duration
}

// Pages are the pages of administration. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/admin", h.Page.Serve(h.tree))
	r.Post("/admin/nodes", h.Page.Serve(h.create))
	r.Get("/admin/nodes/{id}", h.Page.Serve(h.node))
	r.Post("/admin/nodes/{id}", h.Page.Serve(h.update))
	r.Post("/admin/nodes/{id}/archive", h.Page.Serve(h.archive))
	r.Post("/admin/nodes/{id}/restore", h.Page.Serve(h.restore))
	r.Post("/admin/nodes/{id}/members", h.Page.Serve(h.addMember))
	r.Post("/admin/nodes/{id}/members/{member}", h.Page.Serve(h.changeMember))
	r.Post("/admin/nodes/{id}/members/{member}/remove", h.Page.Serve(h.removeMember))
	r.Post("/admin/nodes/{id}/groups", h.Page.Serve(h.addGroup))
	r.Post("/admin/nodes/{id}/groups/{group}/remove", h.Page.Serve(h.removeGroup))
	r.Post("/admin/nodes/{id}/accounts", h.Page.Serve(h.addAccount))
	r.Post("/admin/nodes/{id}/accounts/{account}/disable", h.Page.Serve(h.disableAccount))
	r.Post("/admin/nodes/{id}/accounts/{account}/enable", h.Page.Serve(h.enableAccount))
	r.Get("/admin/users", h.Page.Serve(h.users))
	r.Get("/admin/users/{id}", h.Page.Serve(h.user))
	r.Post("/admin/users/{id}/{change}", h.Page.Serve(h.changeUser))
	r.Get("/admin/cluster", h.Page.Serve(h.cluster))
	r.Get("/admin/cluster/stream", h.Page.Serve(h.clusterStream))
	pools := poolPages{h}
	r.Get("/admin/pools", h.Page.Serve(pools.pools))
	r.Post("/admin/pools", h.Page.Serve(pools.createPool))
	r.Get("/admin/pools/{pool}", h.Page.Serve(pools.pool))
	r.Get("/admin/pools/{pool}/stream", h.Page.Serve(pools.poolStream))
	r.Post("/admin/pools/{pool}/drain", h.Page.Serve(pools.drainPool))
	r.Post("/admin/pools/{pool}/access", h.Page.Serve(pools.setPoolAccess))
	r.Post("/admin/pools/{pool}/limits", h.Page.Serve(pools.setPoolLimit))
	r.Post("/admin/pools/{pool}/delete", h.Page.Serve(pools.deletePool))
	r.Post("/admin/pools/{pool}/tokens", h.Page.Serve(pools.createPoolToken))
	r.Post("/admin/pools/{pool}/tokens/{token}/revoke", h.Page.Serve(pools.revokePoolToken))
	r.Post("/admin/pools/{pool}/workers/{worker}/drain", h.Page.Serve(pools.drainWorker))
	r.Get("/admin/storage", h.Page.Serve(h.sweeps))
	r.Post("/admin/storage", h.Page.Serve(h.beginSweep))
	r.Get("/admin/audit", h.Page.Serve(h.auditLog))
	r.Get("/admin/audit/export", h.Page.Serve(h.auditExport))
}
