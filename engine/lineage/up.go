package lineage

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/lineage/graph"
)

// up reads what items were made from.
func (r *reader) up(ctx context.Context, by map[string][]parts, fan int, found links) error {
	if err := r.upArtifacts(ctx, by[partArtifact], found); err != nil {
		return err
	}
	if err := r.upEntries(ctx, by[partEntry], fan, found); err != nil {
		return err
	}
	if err := r.upNodes(ctx, by[partNode], fan, found); err != nil {
		return err
	}
	if err := r.loadExecutions(ctx, idsOf(by[partExecution])); err != nil {
		return err
	}
	for _, p := range by[partExecution] {
		if e := r.executions[p.id]; e != nil {
			r.linkInputs(e, executionKey(p.id), func(string) (string, bool) { return "", true }, found)
		}
	}
	return nil
}

func idsOf(list []parts) []uuid.UUID {
	ids := make([]uuid.UUID, len(list))
	for i, p := range list {
		ids[i] = p.id
	}
	return ids
}

func (r *reader) upArtifacts(ctx context.Context, list []parts, found links) error {
	if err := r.loadArtifacts(ctx, idsOf(list)); err != nil {
		return err
	}
	var executions []uuid.UUID
	for _, p := range list {
		if a, ok := r.artifacts[p.id]; ok {
			executions = append(executions, a.ExecutionID)
		}
	}
	if err := r.loadExecutions(ctx, executions); err != nil {
		return err
	}
	for _, p := range list {
		if a, ok := r.artifacts[p.id]; ok {
			k := artifactKey(p.id)
			found.add(k, graph.Edge{From: r.maker(a.ExecutionID, a.Node), To: k, Relation: graph.Output, Label: a.Name})
		}
	}
	return nil
}

func (r *reader) upEntries(ctx context.Context, list []parts, fan int, found links) error {
	ids := idsOf(list)
	if err := r.loadEntries(ctx, ids); err != nil {
		return err
	}
	var without []uuid.UUID
	for _, id := range ids {
		e, ok := r.entries[id]
		switch {
		case !ok:
		case e.ArtifactID != nil:
			found.add(entryKey(id), graph.Edge{From: artifactKey(*e.ArtifactID), To: entryKey(id), Relation: graph.Registered})
		default:
			without = append(without, id)
		}
	}
	if len(without) == 0 {
		return nil
	}
	rows, err := r.queries.ArtifactsOfEntries(ctx, int32(fan+1), without) //nolint:gosec // at most wideFan
	if err != nil {
		return fmt.Errorf("find artifacts by their bytes: %w", err)
	}
	for _, row := range rows {
		k := entryKey(row.EntryID)
		found.add(k, graph.Edge{From: artifactKey(row.ArtifactID), To: k, Relation: graph.SameBytes})
	}
	return nil
}

// linkInputs links what the inputs of an execution refer to. reads specifies which of them at reads.
func (r *reader) linkInputs(e *execution, at graph.Key, reads func(string) (string, bool), found links) {
	for _, ref := range e.refs {
		if label, ok := reads(ref.input); ok {
			if label == "" {
				label = ref.input
			}
			from := artifactKey(ref.artifact)
			if ref.file != "" {
				from = fileKey(e.ProjectID, ref.file)
			}
			found.add(at, graph.Edge{From: from, To: at, Relation: graph.Input, Label: label})
		}
	}
	for _, u := range e.uses {
		if label, ok := reads(u.Input); ok {
			if label == "" {
				label = u.Input
			}
			found.add(at, graph.Edge{From: entryKey(u.EntryID), To: at, Relation: graph.Input, Label: label})
		}
	}
}

// upNodes reads what nodes of plans were made from: outputs of their dependencies, and inputs of the
// execution.
func (r *reader) upNodes(ctx context.Context, list []parts, fan int, found links) error {
	if err := r.loadExecutions(ctx, idsOf(list)); err != nil {
		return err
	}
	var ats []nodeAt
	for _, p := range list {
		if s := r.shapeOf(p.id); s != nil && p.index < len(s.plan.Nodes) {
			for _, d := range s.plan.Nodes[p.index].Dependencies {
				ats = append(ats, nodeAt{p.id, d})
			}
		}
	}
	if err := r.loadNodes(ctx, ats, fan); err != nil {
		return err
	}
	for _, p := range list {
		s := r.shapeOf(p.id)
		if s == nil || p.index >= len(s.plan.Nodes) {
			continue
		}
		at, f, name := nodeKey(p.id, p.index), &s.flows[p.index], s.plan.Nodes[p.index].Name
		for _, d := range s.plan.Nodes[p.index].Dependencies {
			r.linkDependency(at, f, nodeAt{p.id, d}, found)
		}
		r.linkInputs(r.executions[p.id], at, func(input string) (string, bool) {
			if own, ok := strings.CutPrefix(input, name+"."); ok {
				return own, true // a reference in the definition
			}
			return f.readsInput(input)
		}, found)
	}
	return nil
}

// loadNodes reads the outputs of nodes.
func (r *reader) loadNodes(ctx context.Context, ats []nodeAt, fan int) error {
	var executions []uuid.UUID
	var indexes []int32
	for _, at := range ats {
		if _, ok := r.nodes[at]; !ok {
			r.nodes[at] = nil
			executions, indexes = append(executions, at.execution), append(indexes, int32(at.index)) //nolint:gosec // at most maxNodeIndex
		}
	}
	if len(executions) == 0 {
		return nil
	}
	rows, err := r.queries.LineageNodes(ctx, executions, indexes, int32(fan)) //nolint:gosec // at most wideFan
	if err != nil {
		return fmt.Errorf("read nodes: %w", err)
	}
	var origins []uuid.UUID
	for _, row := range rows {
		at := nodeAt{row.ExecutionID, int(row.NodeIndex)}
		r.nodes[at] = append(r.nodes[at], row)
		if row.OriginExecution != nil {
			origins = append(origins, *row.OriginExecution)
		}
	}
	return r.loadExecutions(ctx, origins)
}

// linkDependency links what at reads from a dependency: its artifacts, or the node itself for values
// and for an order that may hide a read.
func (r *reader) linkDependency(at graph.Key, f *flow, d nodeAt, found links) {
	node, relation, label := false, graph.After, ""
	if len(f.outputs[d.index]) == 0 {
		node = true
	}
	for _, row := range r.nodes[d] {
		input, ok := f.reads(d.index, row.Output)
		if !ok || row.Output == "" {
			continue
		}
		for _, text := range row.Artifacts {
			if id, err := uuid.Parse(text); err == nil {
				found.add(at, graph.Edge{From: artifactKey(id), To: at, Relation: graph.Input, Label: input})
			}
		}
		found.more(at, min(row.Total, countLimit), len(row.Artifacts))
		if len(row.Artifacts) == 0 {
			node, relation, label = true, graph.Value, input
		} else if len(f.outputs[d.index]) == 0 {
			node = false // its results are in the graph
		}
	}
	if node {
		found.add(at, graph.Edge{From: r.origin(d), To: at, Relation: relation, Label: label})
	}
}

// origin returns the node whose result a node has: that of an earlier execution for a reused one.
func (r *reader) origin(at nodeAt) graph.Key {
	for _, row := range r.nodes[at] {
		if row.OriginUse == "TAKEN" || row.OriginUse == "CACHED" {
			if s := r.shapeOf(*row.OriginExecution); s != nil && int(*row.OriginIndex) < len(s.plan.Nodes) {
				return r.producer(*row.OriginExecution, int(*row.OriginIndex))
			}
			return executionKey(*row.OriginExecution)
		}
	}
	return r.producer(at.execution, at.index)
}
