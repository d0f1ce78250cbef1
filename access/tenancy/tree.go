package tenancy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Branch is a node in the tree with its counts.
type Branch struct {
	Node
	Depth    int  // 0 for the requested node
	Members  int  // people with a role at this node
	Groups   int  // groups with a role at this node
	Children int  // direct children, without archived ones
	Projects int  // anywhere below, without archived ones
	Outside  bool // the caller may not open it: it is only on the path to a readable node
}

// Tree returns the nodes at and below root that the caller may read, and the nodes on
// the path to them, parents before their children and siblings by name. For the
// installation's id, every caller gets the nodes they may read; for any other
// unreadable root, it returns apperr.NotFound.
func (s *Service) Tree(ctx context.Context, root uuid.UUID, archived bool) ([]Branch, error) {
	subject, err := signedIn(ctx)
	if err != nil {
		return nil, err
	}
	if root != auth.Installation {
		if _, err := auth.AuthorizeIn(ctx, auth.TenancyRead, root, absent(root)); err != nil {
			return nil, err
		}
	}
	rows, err := db.New(s.pool).ListTenancyNodes(ctx, root)
	if err != nil {
		return nil, fmt.Errorf("tree below %s: %w", root, err)
	}
	all := make(map[uuid.UUID]*Branch, len(rows))
	for _, row := range rows {
		b := &Branch{Node: fromRow(row.TenancyNode), Members: int(row.Members), Groups: int(row.Groups), Outside: true}
		all[b.ID] = b
	}
	children := map[uuid.UUID][]*Branch{}
	shown := map[uuid.UUID]bool{}
	for _, b := range all {
		if b.ID != root {
			children[b.ParentID] = append(children[b.ParentID], b)
		}
		if b.Archived() && !archived && b.ID != root {
			continue
		}
		countAbove(all, b)
		if subject.May(auth.TenancyRead, b.ID) {
			b.Outside = false
			for _, id := range b.Path {
				shown[id] = true
			}
		}
	}
	if all[root] == nil {
		return nil, absent(root)
	}
	return flatten(all[root], children, shown, 0), nil
}

// countAbove adds b to the counts of its ancestors.
func countAbove(all map[uuid.UUID]*Branch, b *Branch) {
	if b.Archived() {
		return
	}
	if parent := all[b.ParentID]; parent != nil {
		parent.Children++
	}
	if b.Kind != Project {
		return
	}
	for _, id := range b.Path[:len(b.Path)-1] {
		if above := all[id]; above != nil {
			above.Projects++
		}
	}
}

// flatten lists b and what is shown below it.
func flatten(b *Branch, children map[uuid.UUID][]*Branch, shown map[uuid.UUID]bool, depth int) []Branch {
	if !shown[b.ID] {
		return nil
	}
	if b.Outside {
		b.Members, b.Groups, b.Children, b.Projects = 0, 0, 0, 0 // the caller may not see the counts of others
	}
	b.Depth = depth
	list := []Branch{*b}
	below := children[b.ID]
	slices.SortFunc(below, func(x, y *Branch) int {
		return cmp.Or(kindOrder(x.Kind)-kindOrder(y.Kind), strings.Compare(strings.ToLower(x.Name), strings.ToLower(y.Name)), slices.Compare(x.ID[:], y.ID[:]))
	})
	for _, c := range below {
		list = append(list, flatten(c, children, shown, depth+1)...)
	}
	return list
}

// kindOrder sorts teams before sibling departments, so that a team never appears to be
// inside the previous department.
func kindOrder(k Kind) int {
	if k == Team {
		return 0
	}
	return 1
}

// Node returns a node and the path to it, from the tenant down.
func (s *Service) Node(ctx context.Context, id uuid.UUID) (Node, []Step, error) {
	q := db.New(s.pool)
	subject, n, err := at(ctx, q, auth.TenancyRead, id)
	if err != nil {
		return Node{}, nil, err
	}
	steps, err := way(ctx, q, subject, n)
	return n, steps, err
}

// way returns the ancestors of n and n itself, without the installation.
func way(ctx context.Context, q *db.Queries, subject auth.Subject, n Node) ([]Step, error) {
	rows, err := q.TenancyNodesByID(ctx, n.Path)
	if err != nil {
		return nil, fmt.Errorf("path of %s: %w", n.ID, err)
	}
	var steps []Step
	for _, id := range n.Path {
		i := slices.IndexFunc(rows, func(row db.TenancyNode) bool { return row.ID == id })
		if i < 0 || Kind(rows[i].Kind) == Installation {
			continue
		}
		steps = append(steps, Step{ID: id, Kind: Kind(rows[i].Kind), Name: rows[i].Name, Readable: subject.May(auth.TenancyRead, id)})
	}
	return steps, nil
}

// Filter narrows a list of nodes of one kind. Below, when it is not uuid.Nil, is an
// ancestor of the nodes. After is the Next of the previous page.
type Filter struct {
	Kind     Kind
	Below    uuid.UUID
	Text     string // part of the name
	Archived bool   // archived ones too
	After    string
	Limit    int
}

// Page is one page of a list. Next is "" on the last one.
type Page[T any] struct {
	Items []T
	Next  string
}

const (
	defaultPageSize = 50
	maxPageSize     = 500
)

func pageSize(limit int) int {
	if limit <= 0 {
		return defaultPageSize
	}
	return min(limit, maxPageSize)
}

// List returns the nodes of a kind that the caller may read, by id.
func (s *Service) List(ctx context.Context, f Filter) (Page[Node], error) {
	subject, err := signedIn(ctx)
	if err != nil {
		return Page[Node]{}, err
	}
	after, err := cursor(f.After)
	if err != nil {
		return Page[Node]{}, err
	}
	limit := pageSize(f.Limit)
	params := db.ListTenancyNodesOfKindParams{Kind: string(f.Kind), After: after, Archived: f.Archived, Pattern: pattern(f.Text), RowLimit: maxPageSize}
	if f.Below != uuid.Nil {
		params.Below = &f.Below
	}
	var page Page[Node]
	for {
		rows, err := db.New(s.pool).ListTenancyNodesOfKind(ctx, params)
		if err != nil {
			return Page[Node]{}, fmt.Errorf("list %ss: %w", f.Kind, err)
		}
		for _, row := range rows {
			if !subject.May(auth.TenancyRead, row.ID) {
				continue
			}
			if len(page.Items) == limit {
				page.Next = page.Items[limit-1].ID.String()
				return page, nil
			}
			page.Items = append(page.Items, fromRow(row))
		}
		if len(rows) < maxPageSize {
			return page, nil
		}
		params.After = rows[len(rows)-1].ID
	}
}

// signedIn authorizes lists that any signed-in user may request and that contain only
// what the caller may read.
func signedIn(ctx context.Context) (auth.Subject, error) {
	subject, ok := auth.SubjectOf(ctx)
	switch {
	case !ok:
		return subject, apperr.New(apperr.Unauthenticated, "Sign in to continue.")
	case subject.Role == auth.RoleTask:
		return subject, apperr.New(apperr.Forbidden, "A task's token can only be used for the task's own reports.")
	}
	return subject, nil
}

// cursor reads the Next of a page; "" is the beginning.
func cursor(text string) (uuid.UUID, error) {
	if text == "" {
		return uuid.Nil, nil
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return id, apperr.InvalidFields("The page token is not valid.", []apperr.Field{{Path: "page", Message: "Use next_page from the previous response."}})
	}
	return id, nil
}

// pattern returns a pattern that matches text anywhere, ignoring case.
func pattern(text string) string {
	if text = strings.TrimSpace(strings.ReplaceAll(text, "\x00", "")); text == "" {
		return ""
	}
	return "%" + db.EscapeLike(strings.ToLower(text)) + "%"
}
