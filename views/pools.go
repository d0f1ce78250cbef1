package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/ui"
)

// PoolsURL lists the pools of workers.
func PoolsURL() string { return "/admin/pools" }

// PoolURL is the page of a pool.
func PoolURL(name string) string { return PoolsURL() + "/" + url.PathEscape(name) }

// PoolStreamURL is its stream.
func PoolStreamURL(name string) string { return PoolURL(name) + "/stream" }

// PoolID is the element id of the live part of the page of a pool.
func PoolID() string { return "pool" }

// PoolRow is a pool in the list.
type PoolRow struct {
	Name, URL, Description string
	Restricted             bool   // only some projects may use it
	State, Mark            string // Mark selects the icon and the colour
	Workers                string // "2 of 3"
	Use                    Meter
	Running, Queued, Wait  string
}

// Pools lists the pools.
type Pools struct {
	Page
	Tabs     []ui.Tab
	Notice   *AdminNotice
	Problems *AdminProblems
	Rows     []PoolRow
	Form     AdminForm
}

// PoolWorker is a worker of a pool.
type PoolWorker struct {
	Name, Detail string // Detail is its version and its labels
	State, Mark  string
	Use          []Meter
	Tasks        []PoolTask // the first ones
	More         string     // "and 3 more"
	Heartbeat    ui.Moment
	DrainURL     string // POST; "" for a lost worker
	Drain        bool   // the button begins a drain; otherwise, it ends one
}

// PoolTask is a task of a pool.
type PoolTask struct {
	Name, URL string // "train · digits"
	Requested string
	Reason    string // why it waits
	Since     ui.Moment
}

// PoolToken is a token of a pool.
type PoolToken struct {
	ID, By        string
	Created, Used ui.Moment
	RevokeURL     string
}

// dialog is the id of the dialog that asks before the token is revoked.
func (t PoolToken) dialog() string { return "revoke-" + t.ID }

// PoolLive is the part of the page that changes.
type PoolLive struct {
	Notice  *AdminNotice
	Figures []QuotaFigure
	Workers []PoolWorker
	Waiting []PoolTask
	More    string // waiting tasks that are not listed
}

// NewPoolToken is a token that is shown only once, with the command that uses it.
type NewPoolToken struct{ ID, Token, Command string }

// Pool is the page of a pool.
type Pool struct {
	Page
	Name, Description string
	Draining          bool
	Notice            *AdminNotice
	Fresh             *NewPoolToken
	Live              PoolLive
	StreamURL         string
	Tokens            []PoolToken
	Facts             []ui.Fact
	Problems          *AdminProblems
	Restricted        bool         // only Access may use the pool
	Access            []PoolAccess // by path
	AccessForm        AdminForm    // adds to Access
	Shares            []PoolShare  // by path
	LimitForm         AdminForm
}

// PoolShare is what a tenant, department, team or project uses of a pool.
type PoolShare struct {
	Name, URL, Kind       string
	Running, GPUs, Queued string // with the limit, such as "2 of 4"
	GPUHours, TaskHours   string // in 30 days
}

// PoolAccess is a tenant, department, team or project that may use a restricted pool.
type PoolAccess struct{ ID, Name, URL, Kind string }

func (m Pool) drainURL() string  { return PoolURL(m.Name) + "/drain" }
func (m Pool) accessURL() string { return PoolURL(m.Name) + "/access" }
func (m Pool) deleteURL() string { return PoolURL(m.Name) + "/delete" }
func (m Pool) tokensURL() string { return PoolURL(m.Name) + "/tokens" }
