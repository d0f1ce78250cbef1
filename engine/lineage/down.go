package lineage

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/lineage/graph"
)

// down reads what was made from items.
func (r *reader) down(ctx context.Context, by map[string][]parts, fan int, found links) error {
	if err := r.downArtifacts(ctx, by[partArtifact], fan, found); err != nil {
		return err
	}
	if err := r.downEntries(ctx, by[partEntry], fan, found); err != nil {
		return err
	}
	return r.downProducers(ctx, append(by[partNode], by[partExecution]...), fan, found)
}

func (r *reader) downEntries(ctx context.Context, list []parts, fan int, found links) error {
	if len(list) == 0 {
		return nil
	}
	users, err := r.queries.UsersOfEntries(ctx, idsOf(list), int32(fan)) //nolint:gosec // at most wideFan
	if err != nil {
		return fmt.Errorf("find the users of entries: %w", err)
	}
	ids := make([]uuid.UUID, len(users))
	for i, u := range users {
		ids[i] = u.ExecutionID
	}
	if err := r.loadExecutions(ctx, ids); err != nil {
		return err
	}
	shown, totals := map[graph.Key]int{}, map[graph.Key]int64{}
	for _, u := range users {
		k := entryKey(u.EntryID)
		shown[k]++
		totals[k] = u.Total
		for _, e := range r.readersOf(u.ExecutionID, u.Input) {
			found.add(k, graph.Edge{From: k, To: e.To, Relation: graph.Input, Label: e.Label})
		}
	}
	for k, total := range totals {
		found.more(k, total, shown[k])
	}
	return nil
}

// readersOf returns the nodes of an execution that read an input, with the inputs that it becomes; the
// execution itself when none does or its plan is gone.
func (r *reader) readersOf(id uuid.UUID, input string) []graph.Edge {
	s := r.shapeOf(id)
	if s == nil || id == r.merged {
		return []graph.Edge{{To: executionKey(id), Label: input}}
	}
	var list []graph.Edge
	for i := range s.flows {
		if own, ok := strings.CutPrefix(input, s.plan.Nodes[i].Name+"."); ok {
			return []graph.Edge{{To: nodeKey(id, i), Label: own}}
		}
		if label, ok := s.flows[i].readsInput(input); ok {
			if label == "" {
				label = input
			}
			list = append(list, graph.Edge{To: nodeKey(id, i), Label: label})
		}
	}
	if len(list) == 0 {
		return []graph.Edge{{To: executionKey(id), Label: input}}
	}
	return list
}

func (r *reader) downArtifacts(ctx context.Context, list []parts, fan int, found links) error {
	ids := idsOf(list)
	if len(ids) == 0 {
		return nil
	}
	if err := r.loadArtifacts(ctx, ids); err != nil {
		return err
	}
	users, err := r.queries.UsersOfArtifacts(ctx, ids, int32(fan)) //nolint:gosec // at most wideFan
	if err != nil {
		return fmt.Errorf("find the users of artifacts: %w", err)
	}
	var executions []uuid.UUID
	for _, id := range ids {
		if a, ok := r.artifacts[id]; ok {
			executions = append(executions, a.ExecutionID)
		}
	}
	for _, u := range users {
		executions = append(executions, u.ExecutionID)
	}
	if err := r.loadExecutions(ctx, executions); err != nil {
		return err
	}
	for _, id := range ids {
		if a, ok := r.artifacts[id]; ok {
			r.linkOwnReaders(a, found)
		}
	}
	if err := r.linkUsers(ctx, users, found); err != nil {
		return err
	}
	entries, err := r.queries.EntriesOfArtifacts(ctx, int32(fan), ids) //nolint:gosec // at most wideFan
	if err != nil {
		return fmt.Errorf("find registered artifacts: %w", err)
	}
	for _, e := range entries {
		relation := graph.SameBytes
		if e.Registered {
			relation = graph.Registered
		}
		found.add(artifactKey(e.ArtifactID), graph.Edge{From: artifactKey(e.ArtifactID), To: entryKey(e.EntryID), Relation: relation})
	}
	return nil
}

// linkOwnReaders links the nodes of the same execution that read an artifact.
func (r *reader) linkOwnReaders(a db.LineageArtifactsRow, found links) {
	s := r.shapeOf(a.ExecutionID)
	if s == nil || a.ExecutionID == r.merged {
		return
	}
	i, ok := s.node(a.Node)
	if !ok {
		return
	}
	output := a.Name
	if s.plan.Nodes[i].Name != a.Node {
		output = "" // an inner node: the outputs of the outer one have their own names
	}
	r.linkReaders(artifactKey(a.ID), a.ExecutionID, i, output, found)
}

// linkReaders links the nodes that read an output of node i; any output when it is "".
func (r *reader) linkReaders(k graph.Key, id uuid.UUID, i int, output string, found links) {
	s := r.shapeOf(id)
	for _, d := range s.plan.Nodes[i].Dependents {
		f := &s.flows[d]
		label, ok := f.reads(i, output)
		if output == "" {
			for _, l := range f.outputs[i] {
				label, ok = l, true
			}
		}
		if ok {
			found.add(k, graph.Edge{From: k, To: r.producer(id, d), Relation: graph.Input, Label: label})
		}
	}
}

// linkUsers links other executions that refer to artifacts: in their inputs, or in results that they
// reuse.
func (r *reader) linkUsers(ctx context.Context, users []db.UsersOfArtifactsRow, found links) error {
	shown, totals := map[graph.Key]int{}, map[graph.Key]int64{}
	var executions []uuid.UUID
	var artifacts []string
	var sizes []int32
	for _, u := range users {
		k := artifactKey(u.ArtifactID)
		shown[k]++
		totals[k] = u.Total
		e := r.executions[u.ExecutionID]
		if e == nil {
			continue
		}
		given := false
		for _, ref := range e.refs {
			if ref.artifact != u.ArtifactID {
				continue
			}
			given = true
			for _, reader := range r.readersOf(u.ExecutionID, ref.input) {
				found.add(k, graph.Edge{From: k, To: reader.To, Relation: graph.Input, Label: reader.Label})
			}
		}
		if s := r.shapeOf(u.ExecutionID); !given && s != nil {
			executions, artifacts, sizes = append(executions, u.ExecutionID), append(artifacts, u.ArtifactID.String()), append(sizes, int32(len(s.plan.Nodes))) //nolint:gosec // at most workflow.MaxOperators
		}
	}
	for k, total := range totals {
		found.more(k, total, shown[k])
	}
	if len(executions) == 0 {
		return nil
	}
	nodes, err := r.queries.NodesWithArtifact(ctx, executions, artifacts, sizes)
	if err != nil {
		return fmt.Errorf("find reused artifacts: %w", err)
	}
	for _, n := range nodes {
		if id, err := uuid.Parse(n.Artifact); err == nil {
			r.linkReaders(artifactKey(id), n.ExecutionID, int(n.NodeIndex), "", found)
		}
	}
	return nil
}

// downProducers reads what nodes and executions produced: artifacts, and values that other nodes read.
func (r *reader) downProducers(ctx context.Context, list []parts, fan int, found links) error {
	if err := r.loadExecutions(ctx, idsOf(list)); err != nil {
		return err
	}
	var executions []uuid.UUID
	var names []string
	var ats []nodeAt
	at := map[string]graph.Key{}
	for _, p := range list {
		name, k := "", executionKey(p.id)
		if p.part == partNode {
			s := r.shapeOf(p.id)
			if s == nil || p.index >= len(s.plan.Nodes) {
				continue
			}
			name, k = s.plan.Nodes[p.index].Name, nodeKey(p.id, p.index)
			ats = append(ats, nodeAt{p.id, p.index})
		}
		executions, names = append(executions, p.id), append(names, name)
		at[p.id.String()+name] = k
	}
	if len(executions) == 0 {
		return nil
	}
	rows, err := r.queries.ArtifactsOfSteps(ctx, executions, names, int32(fan)) //nolint:gosec // at most wideFan
	if err != nil {
		return fmt.Errorf("find the artifacts of nodes: %w", err)
	}
	shown, totals := map[graph.Key]int{}, map[graph.Key]int64{}
	for _, row := range rows {
		k := at[row.ExecutionID.String()+row.Node]
		shown[k]++
		totals[k] = row.Total
		found.add(k, graph.Edge{From: k, To: artifactKey(row.ArtifactID), Relation: graph.Output, Label: row.Name})
	}
	for k, total := range totals {
		n := found.of(k)
		n.More += int(total) - shown[k]
	}
	if err := r.loadNodes(ctx, ats, fan); err != nil {
		return err
	}
	for _, n := range ats {
		r.linkDependents(n, found)
	}
	return nil
}

// linkDependents links the nodes that read a value of a node, or that start after it.
func (r *reader) linkDependents(n nodeAt, found links) {
	s := r.shapeOf(n.execution)
	for _, d := range s.plan.Nodes[n.index].Dependents {
		up := links{}
		k := r.producer(n.execution, d)
		r.linkDependency(k, &s.flows[d], n, up)
		for _, e := range up.of(k).Edges {
			if e.From == r.producer(n.execution, n.index) {
				found.add(e.From, e)
			}
		}
	}
}
