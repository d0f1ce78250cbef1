package quotas

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/handlers/amount"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const (
	teamQueueShown   = 25 // entries of the queue on the page
	teamHoldersShown = 2  // executions that an entry names
)

// myTeam redirects to the team of the current project.
func (h *Pages) myTeam(w http.ResponseWriter, r *http.Request) error {
	id, err := h.Quotas.Reader.TeamOf(r.Context())
	if err != nil {
		return err
	}
	http.Redirect(w, r, views.TeamURL(id.String()), http.StatusSeeOther)
	return nil
}

func teamID(r *http.Request) (uuid.UUID, error) {
	id, err := uuid.Parse(chi.URLParam(r, "id"))
	if err != nil {
		return uuid.Nil, apperr.New(apperr.NotFound, "There is no tenant, department, team or project %s.", chi.URLParam(r, "id"))
	}
	return id, nil
}

// team shows a team, or another node of the tree, to its members: limits and usage, the queue,
// GPU-hours by user, and the share.
func (h *Pages) team(w http.ResponseWriter, r *http.Request) error {
	id, err := teamID(r)
	if err != nil {
		return err
	}
	t, err := h.Quotas.Reader.Team(r.Context(), id, teamQueueShown)
	if err != nil {
		return err
	}
	clock, name := h.Page.Clock(r), levelName(t.Node.Ref())
	var crumbs []views.Crumb
	for _, l := range t.Node.Path[:len(t.Node.Path)-1] {
		if l.Kind != "installation" {
			crumbs = append(crumbs, views.Crumb{Name: l.Name, URL: views.TeamURL(l.ID.String())})
		}
	}
	m := views.TeamPage{
		Page: h.Page.Base(r, name, views.SectionTeam, crumbs...), Name: name, Kind: t.Node.Kind, Live: teamLive(clock, t),
		StreamURL: views.TeamStreamURL(id.String()),
	}
	if t.Writable {
		m.Edit = quotaSelection{}.editURL(id, nil)
	}
	if m.Hours, err = h.teamHours(r.Context(), clock, t); err != nil {
		return err
	}
	return web.Render(w, r, http.StatusOK, views.TeamView(m))
}

// teamStream sends the changes of the page of a team.
func (h *Pages) teamStream(w http.ResponseWriter, r *http.Request) error {
	id, err := teamID(r)
	if err != nil {
		return err
	}
	may := func(ctx context.Context) error {
		_, err := h.Quotas.Reader.Team(ctx, id, 1)
		return err
	}
	if err := may(r.Context()); err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, may)
	if err != nil {
		return err
	}
	clock, sent := h.Page.Clock(r), page.SentPieces{}
	h.Page.OnHints(r, stream, h.Page.Ticks(r.Context()), page.ListInterval, func(ctx context.Context) error {
		t, err := h.Quotas.Reader.Team(ctx, id, teamQueueShown)
		if err != nil {
			return err
		}
		clock.Now = h.Now()
		live := teamLive(clock, t)
		u, changed := teamUpdate(sent, live)
		if !changed {
			return nil
		}
		return stream.SendComponent(ctx, "", "", views.TeamUpdateBlock(u))
	})
	return nil
}

// teamUpdate contains the changes since the previous message. The browser updates waiting
// times.
func teamUpdate(sent page.SentPieces, live views.TeamLive) (u views.TeamUpdate, changed bool) {
	if sent.Changed("now", live.Now) {
		u.Lead, changed = &live, true
	}
	if sent.Changed("limits", live.Limits) {
		u.Limits, changed = live.Limits, true
	}
	still := live.Queue
	still.Rows = slices.Clone(still.Rows)
	for i := range still.Rows {
		still.Rows[i].Waits = ""
	}
	if sent.Changed("queue", still) {
		u.Queue, changed = &live.Queue, true
	}
	if sent.Changed("share", live.Share) {
		u.Share, changed = &live.Share, true
	}
	return u, changed
}

// teamLive is the live part of the page.
func teamLive(clock ui.Clock, t quota.Team) views.TeamLive {
	return views.TeamLive{Now: teamNow(t), Limits: teamLimits(t), Queue: teamQueue(clock, t), Share: teamShare(t)}
}

// teamResources are the resources on the page of a team: GPUs by type, then those that are
// limited or in use.
func teamResources(t quota.Team) []fair.Resource {
	var gpus, others []fair.Resource
	for _, r := range t.Resources {
		_, bounded := t.Node.Most[r]
		switch {
		case r.GPUType() != "":
			gpus = append(gpus, r)
		case r != fair.GPU && (bounded || t.Node.Resources[r].Used > 0):
			others = append(others, r)
		}
	}
	if _, limited := t.Node.Limits.Limit[fair.GPU]; limited || len(gpus) == 0 && t.Node.Most[fair.GPU] > 0 {
		gpus = append(gpus, fair.GPU)
	}
	return append(gpus, others...)
}

// teamNow states the available capacity: GPUs by type, or CPU if there are no GPUs.
func teamNow(t quota.Team) views.TeamNow {
	var can, full []string
	add := func(r fair.Resource, one int64) {
		left := t.Node.Resources[r].Available
		if left == nil {
			return
		}
		if n := *left / one; n > 0 {
			can = append(can, amount.Words(r, n*one))
		} else if t.Node.Most[r] > 0 {
			full = append(full, amount.Unit(r).Word)
		}
	}
	for _, r := range t.Resources {
		if r.GPUType() != "" {
			add(r, 1)
		}
	}
	if len(can)+len(full) == 0 {
		add(fair.CPU, 1000)
	}
	return views.TeamNow{Can: enumerate(can), Full: enumerate(full)}
}

// enumerate joins words with commas and "and": "a", "a and b", "a, b and c".
func enumerate(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

func teamLimits(t quota.Team) []views.TeamLimit {
	var limits []views.TeamLimit
	for _, r := range teamResources(t) {
		l := views.TeamLimit{Name: amount.Name(r), Bar: quotaBar(&t.Node, r, 0), Most: "no limit"}
		u := amount.Unit(r)
		if most, ok := t.Node.Most[r]; ok {
			l.Most = u.Amount(most)
			if u.Divisor > 0 {
				l.Most += " " + u.Short
			}
			if by := t.Node.Bounds[r]; by.ID != t.Node.ID {
				l.Note = "limit of " + boundName(t, by)
			}
		}
		limits = append(limits, l)
	}
	return limits
}

// boundName names the level whose limit applies, if the reader may see it.
func boundName(t quota.Team, by fair.LevelRef) string {
	switch {
	case by.Kind == "installation":
		return "the cluster"
	case slices.ContainsFunc(t.Node.Path, func(l fair.LevelRef) bool { return l.ID == by.ID }):
		return by.Name
	}
	return "a higher level"
}

func teamQueue(clock ui.Clock, t quota.Team) views.TeamQueue {
	q := views.TeamQueue{URL: views.WaitingURL(t.Node.ID.String(), "")}
	if t.Waiting > 0 {
		q.Count = units.Number(int64(t.Waiting))
	}
	for i, w := range t.Queue {
		q.Rows = append(q.Rows, teamWaiting(clock, i+1, w))
	}
	if more := t.Waiting - len(t.Queue); more > 0 {
		q.More = units.Plural(more, "more node waits", "more nodes wait") + " behind these."
	}
	return q
}

func teamWaiting(clock ui.Clock, place int, q quota.Queued) views.TeamWaiting {
	row := views.TeamWaiting{
		Position: strconv.Itoa(place), Requests: amount.FormatRequest(q.Amount), Since: q.Since.UTC().Format(time.RFC3339),
		Waits: units.Duration(clock.Now.Sub(q.Since).Truncate(time.Second)), Starts: "unknown", Why: q.Reason.Message,
	}
	if q.Hidden() {
		row.Node, row.Sub, row.Why = "A node of another project", "", "Waiting for its turn."
		return row
	}
	row.Node, row.URL, row.Sub = q.Name.Node, label.QueuedURL(q.Key, q.Name), strings.TrimSpace(label.ShortID(q.Execution)+" "+q.Name.Workflow)
	if row.Node == "" {
		row.Node = q.Name.Workflow
	}
	if from, to := q.Reason.StartsFrom, q.Reason.StartsTo; from != nil && to != nil {
		row.Starts = band(clock, *from, *to)
		row.StartsNote = "from earlier runs"
	}
	if q.Offered {
		row.Starts, row.StartsNote = "now", "capacity is reserved"
	}
	for _, h := range q.Reason.Holders[:min(len(q.Reason.Holders), teamHoldersShown)] {
		row.Holders = append(row.Holders, teamHolder(q.Reason, h))
	}
	return row
}

// band is the estimated start: "≈ 14:38", or "14:38 to 15:10".
func band(clock ui.Clock, from, to time.Time) string {
	a, b := clock.Moment(from).Text, clock.Moment(to).Text
	if a == b || to.Sub(from) < 2*time.Minute {
		return "≈ " + b
	}
	return a + " to " + b
}

// teamHolder describes a user of the resource that a node waits for, as far as the reader may
// see it.
func teamHolder(reason fair.Reason, h fair.Holder) views.TeamHolder {
	v := views.TeamHolder{Note: "uses " + amount.Words(reason.Resource, h.Amount)}
	if h.Borrowed {
		v.Note += ", borrowed"
	}
	if h.Owner.Name != "" {
		v.Note = "of " + levelName(h.Owner) + " " + v.Note
	}
	if h.Execution == uuid.Nil {
		v.Name = "Another user"
		return v
	}
	v.Name, v.URL = label.ShortID(h.Execution), views.ExecutionURL(h.Execution.String())
	return v
}

// teamShare shows the rank of the team among its siblings and the parts of its score.
func teamShare(t quota.Team) views.TeamShare {
	if len(t.Siblings) < 2 {
		return views.TeamShare{Empty: "No other team shares the limits of " + orWords(t.Parent) + "."}
	}
	own := t.Node.Standing
	s := views.TeamShare{Strong: shareText(own.Score) + ":", Inputs: []ui.Fact{
		{Name: "Current use", Value: percentText(own.Share), Note: "of the " + amount.Name(own.Dominant) + " of " + orWords(t.Parent)},
		{Name: "History", Value: percentText(own.History), Note: "older usage counts less"},
		{Name: "Weight", Value: ui.Float(own.Weight)},
	}}
	if own.Dominant == "" {
		s.Inputs[0].Note = "of what " + orWords(t.Parent) + " has"
	}
	s.Text = scoreText(t)
	hidden := 0
	for _, sibling := range t.Siblings {
		if sibling.Name == "" {
			hidden++
			continue
		}
		s.Order = append(s.Order, views.TeamRank{Name: sibling.Name, Share: shareText(sibling.Score.Score), Own: sibling.Own})
	}
	if hidden > 0 {
		s.Inputs = append(s.Inputs, ui.Fact{Name: "Not shown", Value: units.Plural(hidden, "other", "others"), Note: "you cannot view them"})
	}
	return s
}

// tied reports whether several siblings all have the same score.
func tied(siblings []quota.ShareRank) bool {
	return len(siblings) > 1 && !slices.ContainsFunc(siblings, func(s quota.ShareRank) bool { return s.Score.Score != siblings[0].Score.Score })
}

// scoreText describes the score.
func scoreText(t quota.Team) string {
	place := slices.IndexFunc(t.Siblings, func(s quota.ShareRank) bool { return s.Own })
	score := t.Node.Standing.Score
	words := "exactly the share of " + levelName(t.Node.Ref())
	if tied(t.Siblings) {
		return "the same as all others, so those that have waited longest go first."
	}
	switch {
	case score < 0.9:
		words = "below its share of the unused capacity"
	case score > 1.1:
		words = "above its share of the unused capacity"
	}
	switch {
	case place == 0:
		return words + ", so it goes before all others."
	case place == len(t.Siblings)-1 && score < 0.9:
		return words + ", but all others are further below theirs and go first."
	case place == len(t.Siblings)-1:
		return words + ", so all others go first."
	}
	before := t.Siblings[place-1].Name
	if before == "" {
		before = units.Plural(place, "other", "others")
	}
	return fmt.Sprintf("%s, so it goes after %s.", words, before)
}

func orWords(parent string) string {
	if parent == "" || parent == "installation" {
		return "the cluster"
	}
	return parent
}

func shareText(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

func percentText(v float64) string { return units.Number(int64(math.Round(v*100))) + " %" }
