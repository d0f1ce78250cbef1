package quotas

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/views"
)

// quotaSelection is the selection of the quota page, which is completely in the address.
type quotaSelection struct {
	group    string   // key of a quotaGroup
	only     bool     // only starved or idle nodes
	toggled  []string // short ids of nodes that are not in their initial fold state
	from     int      // the first row
	edit     uuid.UUID
	of       string // node of the chart
	resource string // of the chart
	span     string // of the chart: 1h, 24h, 7d
}

// quotaSelected reads a selection and ignores invalid parts.
func quotaSelected(q url.Values) quotaSelection {
	s := quotaSelection{
		group: q.Get("show"), only: q.Get("only") == "1", toggled: q["toggle"],
		of: q.Get("of"), resource: q.Get("resource"), span: q.Get("span"),
	}
	s.from, _ = strconv.Atoi(q.Get("from"))
	s.edit, _ = uuid.Parse(q.Get("edit"))
	return s
}

// values is the selection as query parameters, without the edit form.
func (s quotaSelection) values() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"show": s.group, "of": s.of, "resource": s.resource, "span": s.span} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if s.only {
		q.Set("only", "1")
	}
	if s.from > 0 {
		q.Set("from", strconv.Itoa(s.from))
	}
	for _, t := range s.toggled {
		q.Add("toggle", t)
	}
	return q
}

// url is the page with a change of the selection.
func (s quotaSelection) url(change func(*quotaSelection)) string {
	s.toggled = slices.Clone(s.toggled)
	change(&s)
	return views.QuotasURL(s.values())
}

// editURL is the page with the form of a node, filled with typed.
func (s quotaSelection) editURL(id uuid.UUID, typed url.Values) string {
	q := s.values()
	maps.Copy(q, typed)
	q.Set("edit", id.String())
	return views.QuotasURL(q) + "#edit"
}

// pick returns the chosen group, or the group of a resource in an unsaved edit, or the first.
func (s quotaSelection) pick(groups []quotaGroup, typed url.Values) quotaGroup {
	if s.group == "" {
		for name := range typed {
			_, resource, ok := strings.Cut(name, ".")
			for _, g := range groups {
				if ok && slices.Contains(g.resources, fair.Resource(resource)) {
					return g
				}
			}
		}
	}
	for _, g := range groups {
		if g.key == s.group {
			return g
		}
	}
	return groups[0]
}

// shortNode names a node in element ids and addresses of one page.
func shortNode(id uuid.UUID) string {
	s := id.String()
	return s[len(s)-12:]
}

const (
	quotaRowsPerPage = 40
	// quotaFoldFrom is the number of nodes from which projects are initially folded.
	quotaFoldFrom = 30
)

// quotaShown is one row of the page: a node, whether it has visible children, and whether they
// are shown.
type quotaShown struct {
	*quota.Node

	foldable, open bool
	context        bool // shown only because of a descendant
}

// shown returns the rows of the tree under a selection, and the number of folded ones.
func (s quotaSelection) shown(o *quota.Overview, keep func(*quota.Node) bool) (rows []quotaShown, folded int) {
	parents, matches := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	for i := len(o.Nodes) - 1; i >= 0; i-- { // children before their parents
		n := &o.Nodes[i]
		if !s.only || keep(n) {
			matches[n.ID] = true
		}
		if matches[n.ID] || parents[n.ID] {
			parents[n.Parent] = true
		}
	}
	hidden := map[uuid.UUID]bool{}
	for i := range o.Nodes {
		n := &o.Nodes[i]
		switch {
		case hidden[n.Parent]:
			hidden[n.ID] = true
			folded++
			continue
		case !matches[n.ID] && !parents[n.ID]:
			continue
		}
		row := quotaShown{Node: n, foldable: parents[n.ID], context: !matches[n.ID]}
		row.open = row.foldable && s.open(o, n)
		hidden[n.ID] = row.foldable && !row.open
		rows = append(rows, row)
	}
	return rows, folded
}

// open reports whether the children of n are shown. The projects of a large tree are initially
// folded; a filtered tree shows the matches.
func (s quotaSelection) open(o *quota.Overview, n *quota.Node) bool {
	open := s.only || len(o.Nodes) < quotaFoldFrom || n.Kind != "team"
	if edited := o.Find(s.edit); edited != nil && slices.ContainsFunc(edited.Path, func(l fair.LevelRef) bool { return l.ID == n.ID && n.ID != s.edit }) {
		return true
	}
	if slices.Contains(s.toggled, shortNode(n.ID)) {
		return !open
	}
	return open
}

// toggle unfolds a folded node and folds an open one.
func (s *quotaSelection) toggle(id uuid.UUID) {
	short := shortNode(id)
	if i := slices.Index(s.toggled, short); i >= 0 {
		s.toggled = slices.Delete(s.toggled, i, i+1)
		return
	}
	s.toggled = append(s.toggled, short)
}
