package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/pool"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// tasksShown is the number of tasks of a worker that the page lists.
const tasksShown = 3

// poolPages are the pages of the pools of workers.
type poolPages struct{ *Pages }

// pools lists the pools of workers.
func (h poolPages) pools(w http.ResponseWriter, r *http.Request) error {
	return h.showPools(w, r, openForm{})
}

func (h poolPages) showPools(w http.ResponseWriter, r *http.Request, open openForm) error {
	pools, err := h.Pools.List(r.Context())
	if err != nil {
		return err
	}
	m := views.Pools{
		Page: h.Page.Base(r, "Worker pools", views.SectionAdmin, views.Crumb{Name: "Teams and people", URL: views.AdminURL()}),
		Tabs: h.poolTabs(r), Notice: poolNotice(r), Problems: open.problems(),
		Form: views.AdminForm{
			ID: "pool-form", Label: "New pool", Action: views.PoolsURL(), Buttons: []views.AdminButton{{Text: "Create the pool", Primary: true}},
			Fields: []views.AdminField{
				open.field("pool", views.AdminField{Name: "name", Label: "Name", Help: "Operators select the pool by this name, such as gpu-lab."}, ""),
				open.field("pool", views.AdminField{Name: "description", Label: "Description", Optional: true}, ""),
			},
		},
	}
	if open.err != nil {
		m.Title = "Error: " + m.Title
	}
	for _, p := range pools {
		row := views.PoolRow{
			Name: p.Name, URL: views.PoolURL(p.Name), Description: p.Description, Restricted: p.Restricted, Workers: units.Number(int64(p.Connected)) + " of " + units.Number(int64(p.Workers)),
			Use: poolMeter(p.Used, p.Capacity), Running: figure(p.Running), Queued: figure(p.Queued), Wait: waitText(p),
		}
		row.State, row.Mark = poolState(p)
		m.Rows = append(m.Rows, row)
	}
	return web.Render(w, r, open.status(), views.PoolsPage(m))
}

// poolTabs are the tabs of administration with that of pools selected.
func (h poolPages) poolTabs(r *http.Request) []ui.Tab {
	return h.TabsAt(r, views.PoolsURL())
}

// poolMeter shows the scarcest kind of resource that is declared: GPUs, CPU cores, or slots.
func poolMeter(used, capacity pool.Amount) views.Meter {
	m := views.Meter{}
	switch {
	case capacity.Slots == 0:
		return m
	case capacity.GPUs > 0:
		m = meter("GPUs", int64(used.GPUs), int64(capacity.GPUs), ui.Unit{Short: "GPUs"})
	case capacity.CPUMillis > 0:
		m = meter("CPU", int64(used.CPUMillis), int64(capacity.CPUMillis), ui.Unit{Divisor: 1000, Short: "cores"})
	default:
		m = meter("slots", int64(used.Slots), int64(capacity.Slots), ui.Unit{Short: "slots"})
	}
	m.Name = ""
	return m
}

// createPool creates a pool.
func (h poolPages) createPool(w http.ResponseWriter, r *http.Request) error {
	form, err := sent(r, "pool", "")
	if err != nil {
		return err
	}
	p, err := h.Pools.Create(r.Context(), strings.TrimSpace(form.values.Get("name")), form.values.Get("description"))
	if err != nil {
		if !shownInForm(err) {
			return err
		}
		form.err = err
		return h.showPools(w, r, form)
	}
	return seeOther(w, r, views.PoolURL(p.Name)+"?did=prepared")
}

// pool shows one pool.
func (h poolPages) pool(w http.ResponseWriter, r *http.Request) error {
	return h.showPool(w, r, request.PathValue(r, "pool"), poolPage{})
}

// poolPage is what the page of a pool shows besides its state.
type poolPage struct {
	fresh   *views.NewPoolToken // a token that was just created
	refused error               // why nothing was changed
	form    openForm            // of the access or of a limit, with its errors
}

func (h poolPages) showPool(w http.ResponseWriter, r *http.Request, name string, with poolPage) error {
	clock := h.Page.Clock(r)
	p, err := h.Pools.Get(r.Context(), name)
	if err != nil {
		return err
	}
	live, err := h.poolLive(r.Context(), clock, name)
	if err != nil {
		return err
	}
	tokens, err := h.Pools.Tokens(r.Context(), name)
	if err != nil {
		return err
	}
	created := clock.Moment(p.CreatedAt)
	m := views.Pool{
		Page: h.Page.Base(r, name, views.SectionAdmin, views.Crumb{Name: "Teams and people", URL: views.AdminURL()}, views.Crumb{Name: "Worker pools", URL: views.PoolsURL()}),
		Name: name, Description: p.Description, Draining: p.Draining, Notice: poolNotice(r), Problems: with.form.problems(), Fresh: with.fresh, Live: live, StreamURL: views.PoolStreamURL(name),
		Facts: []ui.Fact{{Name: "Created", Moment: &created}, {Name: "By", Value: p.CreatedBy}, {Name: "Lost after", Value: units.Duration(h.Pools.LostAfter()) + " without a heartbeat"}},
	}
	for _, t := range tokens {
		token := views.PoolToken{ID: t.ID, By: t.CreatedBy, Created: clock.Ago(t.CreatedAt), RevokeURL: views.PoolURL(name) + "/tokens/" + t.ID + "/revoke"}
		if t.LastUsedAt != nil {
			token.Used = clock.Ago(*t.LastUsedAt)
		}
		m.Tokens = append(m.Tokens, token)
	}
	if err := h.fillPoolAccess(r, &m, with.form); err != nil {
		return err
	}
	if err := h.fillPoolShares(r, &m, with.form); err != nil {
		return err
	}
	status := with.form.status()
	if with.refused != nil {
		status = web.Status(apperr.CodeOf(with.refused))
		m.Notice = &views.AdminNotice{Kind: "error", Strong: "Nothing was changed.", Text: apperr.MessageOf(with.refused)}
	}
	if status != http.StatusOK {
		m.Title = "Error: " + m.Title
	}
	return web.Render(w, r, status, views.PoolPage(m))
}

// poolStream sends the live part of the page again whenever it changed.
func (h poolPages) poolStream(w http.ResponseWriter, r *http.Request) error {
	name, clock := request.PathValue(r, "pool"), h.Page.Clock(r)
	if _, err := h.Pools.Get(r.Context(), name); err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, func(ctx context.Context) error {
		_, err := h.Pools.Get(ctx, name)
		return err
	})
	if err != nil {
		return err
	}
	sent := page.SentPieces{}
	h.Page.OnHints(r, stream, h.Page.Ticks(r.Context()), page.ListInterval, func(ctx context.Context) error {
		clock.Now = h.Now()
		live, err := h.poolLive(ctx, clock, name)
		if err != nil || !sent.Changed("pool", live) {
			return err
		}
		return stream.SendComponent(ctx, "", "", views.PoolUpdate(live))
	})
	return nil
}

// poolLive is the part of the page that changes.
func (h poolPages) poolLive(ctx context.Context, clock ui.Clock, name string) (views.PoolLive, error) {
	p, err := h.Pools.Get(ctx, name)
	if err != nil {
		return views.PoolLive{}, err
	}
	workers, err := h.Pools.Workers(ctx, name)
	if err != nil {
		return views.PoolLive{}, err
	}
	attempts, total, err := h.Pools.Attempts(ctx, name)
	if err != nil {
		return views.PoolLive{}, err
	}
	m := views.PoolLive{Figures: []views.QuotaFigure{
		{Name: "Workers connected", Value: units.Number(int64(p.Connected)), Note: "of " + units.Number(int64(p.Workers))},
		{Name: "Running tasks", Value: units.Number(int64(p.Running))}, {Name: "Queued tasks", Value: units.Number(int64(p.Queued))},
		{Name: "Longest wait", Value: waitText(p)},
	}}
	if p.Connected == 0 && p.Queued > 0 {
		m.Notice = &views.AdminNotice{Kind: "warn", Strong: "No worker is connected.", Text: units.Plural(p.Queued, "task waits", "tasks wait") + " for this pool and can run nowhere else."}
	}
	for _, a := range attempts {
		if a.Worker == uuid.Nil {
			m.Waiting = append(m.Waiting, views.PoolTask{
				Name: taskName(a), URL: views.NodeURL(a.Execution.String(), a.Node), Requested: requestText(a.Requested),
				Reason: cmp.Or(a.Reason, "It was just queued."), Since: clock.Ago(a.QueuedAt),
			})
		}
	}
	if more := total - len(attempts); more > 0 {
		m.More = units.Number(int64(more)) + " more tasks are not listed."
	}
	for _, k := range workers {
		m.Workers = append(m.Workers, poolWorker(clock, k, attempts))
	}
	return m, nil
}

func poolWorker(clock ui.Clock, k pool.Worker, attempts []pool.Attempt) views.PoolWorker {
	row := views.PoolWorker{
		Name: k.Name, Detail: k.Version, Heartbeat: clock.Ago(k.SeenAt), DrainURL: views.PoolURL(k.Pool) + "/workers/" + k.ID.String() + "/drain", Drain: !k.Draining,
	}
	for _, key := range label.SortedKeys(k.Labels) {
		row.Detail += " · " + key + "=" + k.Labels[key]
	}
	var used pool.Amount
	hidden := 0
	for _, a := range attempts {
		if a.Worker != k.ID {
			continue
		}
		used = pool.Amount{Slots: used.Slots + 1, CPUMillis: used.CPUMillis + a.Requested.CPUMillis, MemoryMiB: used.MemoryMiB + a.Requested.MemoryMiB, GPUs: used.GPUs + a.Requested.GPUs}
		if len(row.Tasks) == tasksShown {
			hidden++
			continue
		}
		row.Tasks = append(row.Tasks, views.PoolTask{Name: taskName(a), URL: views.NodeURL(a.Execution.String(), a.Node)})
	}
	if hidden > 0 {
		row.More = fmt.Sprintf("and %d more", hidden)
	}
	if k.Connected {
		row.Use = append(row.Use, poolMeter(used, k.Capacity))
	}
	if k.Connected && k.Capacity.MemoryMiB > 0 {
		memory := meter("memory", int64(used.MemoryMiB), int64(k.Capacity.MemoryMiB), ui.Unit{Divisor: 1024, Short: "GiB"})
		memory.Name = ""
		row.Use = append(row.Use, memory)
	}
	switch k.State() {
	case pool.StateLost:
		row.State, row.Mark, row.DrainURL = "Lost", "FAILED", ""
	case pool.StateLeaving:
		row.State, row.Mark, row.DrainURL = "Ending", "PAUSED", ""
	case pool.StateDraining:
		row.State, row.Mark = "Draining", "PAUSED"
	default:
		row.State, row.Mark = "Idle", "SUCCEEDED"
		if used.Slots > 0 {
			row.State, row.Mark = "Working", "RUNNING"
		}
	}
	return row
}

func taskName(a pool.Attempt) string {
	name := label.JoinNote(a.Workflow+" "+label.ShortID(a.Execution), a.Node)
	if a.Number > 1 {
		name += fmt.Sprintf(" (attempt %d)", a.Number)
	}
	return name
}

func requestText(a pool.Amount) string {
	cores := ui.Unit{Divisor: 1000}.Amount(int64(a.CPUMillis)) + " cores"
	if a.CPUMillis == 1000 {
		cores = "1 core"
	}
	parts := []string{cores, ui.Memory(a.MemoryMiB)}
	if a.GPUs > 0 {
		parts = append(parts, units.Plural(a.GPUs, strings.TrimSpace(a.GPUType+" GPU"), strings.TrimSpace(a.GPUType+" GPUs")))
	}
	return strings.Join(parts, ", ")
}

// drainPool drains a pool, or ends its drain.
func (h poolPages) drainPool(w http.ResponseWriter, r *http.Request) error {
	name := request.PathValue(r, "pool")
	form, err := sent(r, "drain", name)
	if err != nil {
		return err
	}
	draining := form.values.Get("draining") != ""
	if _, err := h.Pools.Drain(r.Context(), name, draining); err != nil {
		return err
	}
	return seeOther(w, r, drained(name, draining))
}

func drained(name string, draining bool) string {
	if draining {
		return views.PoolURL(name) + "?did=drained"
	}
	return views.PoolURL(name) + "?did=resumed"
}

// drainWorker drains a worker, or ends its drain.
func (h poolPages) drainWorker(w http.ResponseWriter, r *http.Request) error {
	name := request.PathValue(r, "pool")
	id, err := pathID(r, "worker")
	if err != nil {
		return err
	}
	form, err := sent(r, "drain", name)
	if err != nil {
		return err
	}
	draining := form.values.Get("draining") != ""
	if err := h.Pools.DrainWorker(r.Context(), name, id, draining); err != nil {
		return err
	}
	return seeOther(w, r, drained(name, draining))
}

// deletePool deletes a pool without tasks.
func (h poolPages) deletePool(w http.ResponseWriter, r *http.Request) error {
	name := request.PathValue(r, "pool")
	if err := h.Pools.Delete(r.Context(), name); err != nil {
		if !shownInForm(err) {
			return err
		}
		return h.showPool(w, r, name, poolPage{refused: err})
	}
	return seeOther(w, r, views.PoolsURL()+"?did=deleted")
}

// createPoolToken creates a token, which the response shows once.
func (h poolPages) createPoolToken(w http.ResponseWriter, r *http.Request) error {
	name := request.PathValue(r, "pool")
	token, secret, err := h.Pools.CreateToken(r.Context(), name)
	if err != nil {
		return err
	}
	command := fmt.Sprintf("FLOWFORGE_WORKER_TOKEN=%s flowforge worker --server %s --pool %s", secret, request.PublicURL(r, h.PublicURL), name)
	return h.showPool(w, r, name, poolPage{fresh: &views.NewPoolToken{ID: token.ID, Token: secret, Command: command}})
}

// revokePoolToken revokes a token.
func (h poolPages) revokePoolToken(w http.ResponseWriter, r *http.Request) error {
	name := request.PathValue(r, "pool")
	if err := h.Pools.RevokeToken(r.Context(), name, request.PathValue(r, "token")); err != nil {
		return err
	}
	return seeOther(w, r, views.PoolURL(name)+"?did=revoked")
}
