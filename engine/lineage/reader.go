package lineage

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/lineage/graph"
)

// reader reads neighbours from the database for one request. Each step of a walk is a fixed number
// of statements, and each statement reads a bounded number of rows for each item.
type reader struct {
	queries  *db.Queries
	versions versions
	subject  auth.Subject
	fan      int                // neighbours of an item
	wide     map[graph.Key]bool // items with more neighbours
	merged   uuid.UUID          // the execution whose nodes are one item

	artifacts  map[uuid.UUID]db.LineageArtifactsRow
	entries    map[uuid.UUID]db.LineageEntriesRow
	executions map[uuid.UUID]*execution
	shapes     map[uuid.UUID]*shape // by version
	nodes      map[nodeAt][]db.LineageNodesRow
	missing    map[uuid.UUID]bool
}

type nodeAt struct {
	execution uuid.UUID
	index     int
}

// execution is an execution with what its inputs refer to.
type execution struct {
	db.LineageExecutionsRow

	refs []reference
	uses []db.EntryUse
}

// reference is an artifact or a file that an input refers to.
type reference struct {
	input    string
	artifact uuid.UUID
	file     string // SHA-256
}

// links are the neighbours of items while they are collected.
type links map[graph.Key]*graph.Neighbours

func (l links) of(k graph.Key) *graph.Neighbours {
	if l[k] == nil {
		l[k] = &graph.Neighbours{}
	}
	return l[k]
}

func (l links) add(at graph.Key, e graph.Edge) {
	n := l.of(at)
	if e.From != e.To && !slices.Contains(n.Edges, e) {
		n.Edges = append(n.Edges, e)
	}
}

// more notes that there are total neighbours of which shown were read; totals above countLimit are
// at least so many.
func (l links) more(at graph.Key, total int64, shown int) {
	n := l.of(at)
	n.More += max(0, int(total)-shown)
	if total > countLimit {
		n.More, n.AtLeast = n.More-1, true
	}
}

// countLimit is the number up to which neighbours are counted.
const countLimit = 1000

// Neighbours implements graph.Source.
func (r *reader) Neighbours(ctx context.Context, of []graph.Key, d graph.Direction) (map[graph.Key]graph.Neighbours, error) {
	out := map[graph.Key]graph.Neighbours{}
	for _, wide := range []bool{false, true} {
		var keys []graph.Key
		for _, k := range of {
			if r.wide[k] == wide {
				keys = append(keys, k)
			}
		}
		if len(keys) == 0 {
			continue
		}
		fan := r.fan
		if wide {
			fan = wideFan
		}
		found, err := r.neighbours(ctx, keys, d, fan)
		if err != nil {
			return nil, err
		}
		maps.Copy(out, found)
	}
	return out, nil
}

func (r *reader) neighbours(ctx context.Context, of []graph.Key, d graph.Direction, fan int) (map[graph.Key]graph.Neighbours, error) {
	found := links{}
	by := map[string][]parts{}
	for _, k := range of {
		if p, ok := split(k); ok {
			by[p.part] = append(by[p.part], p)
		}
	}
	read := r.up
	if d == graph.Down {
		read = r.down
	}
	if err := read(ctx, by, fan, found); err != nil {
		return nil, err
	}
	if err := r.load(ctx, found); err != nil {
		return nil, err
	}
	out := map[graph.Key]graph.Neighbours{}
	for _, k := range of {
		out[k] = r.visible(found.of(k), d, fan)
	}
	return out, nil
}

// visible leaves out what the reader may not see, and what is beyond fan.
func (r *reader) visible(n *graph.Neighbours, d graph.Direction, fan int) graph.Neighbours {
	out := graph.Neighbours{More: n.More, AtLeast: n.AtLeast}
	hidden, seen := map[graph.Key]bool{}, map[graph.Key]bool{}
	beyond := map[graph.Key]bool{}
	for _, e := range n.Edges {
		other := e.To
		if d == graph.Up {
			other = e.From
		}
		switch {
		case !r.mayRead(other):
			hidden[other] = true
		case seen[other] || len(seen) < fan:
			seen[other] = true
			out.Edges = append(out.Edges, e)
		default:
			beyond[other] = true
		}
	}
	out.Hidden, out.More = len(hidden), out.More+len(beyond)
	return out
}

// mayRead reports whether the reader may see an item that was loaded.
func (r *reader) mayRead(k graph.Key) bool {
	project, action, ok := r.place(k)
	return ok && r.subject.May(action, project)
}

// place returns the project of an item, and the action that reads it. What was removed has no
// project: it is known from an item that the reader sees.
func (r *reader) place(k graph.Key) (uuid.UUID, auth.Action, bool) {
	p, ok := split(k)
	if !ok {
		return uuid.Nil, "", false
	}
	switch p.part {
	case partArtifact:
		if a, ok := r.artifacts[p.id]; ok {
			return a.ProjectID, auth.ArtifactRead, true
		}
	case partEntry:
		if e, ok := r.entries[p.id]; ok {
			return e.ProjectID, auth.CatalogueRead, true
		}
	case partExecution, partNode:
		if e := r.executions[p.id]; e != nil {
			return e.ProjectID, auth.ExecutionRead, true
		}
	case partFile:
		return p.id, auth.ArtifactRead, true
	}
	return r.subject.ProjectID, auth.ArtifactRead, r.missing[p.id]
}

// load reads the items at the ends of edges.
func (r *reader) load(ctx context.Context, found links) error {
	var keys []graph.Key
	for _, n := range found {
		for _, e := range n.Edges {
			keys = append(keys, e.From, e.To)
		}
	}
	return r.loadKeys(ctx, keys)
}

func (r *reader) loadKeys(ctx context.Context, keys []graph.Key) error {
	ids := map[string][]uuid.UUID{}
	for _, k := range keys {
		if p, ok := split(k); ok {
			ids[p.part] = append(ids[p.part], p.id)
		}
	}
	if err := r.loadArtifacts(ctx, ids[partArtifact]); err != nil {
		return err
	}
	if err := r.loadEntries(ctx, ids[partEntry]); err != nil {
		return err
	}
	return r.loadExecutions(ctx, append(ids[partExecution], ids[partNode]...))
}

// fresh returns the ids without those that are known or missing, each once.
func fresh[T any](r *reader, ids []uuid.UUID, known map[uuid.UUID]T) []uuid.UUID {
	var out []uuid.UUID
	for _, id := range ids {
		if _, ok := known[id]; !ok && !r.missing[id] && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// lacks marks the ids that were not found.
func lacks[T any](r *reader, ids []uuid.UUID, known map[uuid.UUID]T) {
	for _, id := range ids {
		if _, ok := known[id]; !ok {
			r.missing[id] = true
		}
	}
}

func (r *reader) loadArtifacts(ctx context.Context, ids []uuid.UUID) error {
	if ids = fresh(r, ids, r.artifacts); len(ids) == 0 {
		return nil
	}
	rows, err := r.queries.LineageArtifacts(ctx, ids)
	if err != nil {
		return fmt.Errorf("read artifacts: %w", err)
	}
	for _, row := range rows {
		r.artifacts[row.ID] = row
	}
	lacks(r, ids, r.artifacts)
	return nil
}

func (r *reader) loadEntries(ctx context.Context, ids []uuid.UUID) error {
	if ids = fresh(r, ids, r.entries); len(ids) == 0 {
		return nil
	}
	rows, err := r.queries.LineageEntries(ctx, ids)
	if err != nil {
		return fmt.Errorf("read entries of the catalogue: %w", err)
	}
	for _, row := range rows {
		r.entries[row.ID] = row
	}
	lacks(r, ids, r.entries)
	return nil
}

func (r *reader) loadExecutions(ctx context.Context, ids []uuid.UUID) error {
	if ids = fresh(r, ids, r.executions); len(ids) == 0 {
		return nil
	}
	rows, err := r.queries.LineageExecutions(ctx, ids)
	if err != nil {
		return fmt.Errorf("read executions: %w", err)
	}
	uses, err := r.queries.EntryUsesOf(ctx, ids)
	if err != nil {
		return fmt.Errorf("read what executions used: %w", err)
	}
	var versions []uuid.UUID
	for _, row := range rows {
		e := &execution{LineageExecutionsRow: row}
		var inputs map[string]any
		if err := json.Unmarshal(row.Inputs, &inputs); err != nil {
			return fmt.Errorf("inputs of %s: %w", row.ID, err)
		}
		for _, name := range slices.Sorted(maps.Keys(inputs)) {
			e.refs = referencesIn(inputs[name], name, e.refs)
		}
		r.executions[row.ID] = e
		if r.shapes[row.VersionID] == nil {
			versions = append(versions, row.VersionID)
		}
	}
	for _, u := range uses {
		if e := r.executions[u.ExecutionID]; e != nil {
			e.uses = append(e.uses, u)
		}
	}
	lacks(r, ids, r.executions)
	if len(versions) == 0 {
		return nil
	}
	known, err := r.versions.VersionsByID(auth.AsSystem(ctx), versions)
	if err != nil {
		return fmt.Errorf("read versions: %w", err)
	}
	for id, v := range known {
		r.shapes[id] = &shape{plan: v.Plan, flows: flowsOf(v.Definition, v.Plan)}
	}
	return nil
}

// shapeOf returns the plan of a loaded execution; nil for one that was removed.
func (r *reader) shapeOf(id uuid.UUID) *shape {
	if e := r.executions[id]; e != nil {
		return r.shapes[e.VersionID]
	}
	return nil
}

// referencesIn adds the artifacts and files that a value refers to.
func referencesIn(value any, input string, list []reference) []reference {
	switch v := value.(type) {
	case map[string]any:
		if text, ok := v["$artifact"].(string); ok {
			if id, err := uuid.Parse(text); err == nil {
				return append(list, reference{input: input, artifact: id})
			}
		}
		if hash, ok := v["$file"].(string); ok && isHash(strings.ToLower(hash)) {
			return append(list, reference{input: input, file: strings.ToLower(hash)})
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = referencesIn(v[key], input, list)
		}
	case []any:
		for _, item := range v {
			list = referencesIn(item, input, list)
		}
	}
	return list
}

// producer returns the item of a node of a plan: the node, or its execution when that is one item.
func (r *reader) producer(execution uuid.UUID, index int) graph.Key {
	if execution == r.merged {
		return executionKey(execution)
	}
	return nodeKey(execution, index)
}

// maker returns the item that produced something at a node with this name.
func (r *reader) maker(execution uuid.UUID, node string) graph.Key {
	if s := r.shapeOf(execution); s != nil && execution != r.merged {
		if i, ok := s.node(node); ok {
			return nodeKey(execution, i)
		}
	}
	return executionKey(execution)
}
