package execution

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/memo"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// cacheLookup is a node of which the cache is asked.
type cacheLookup struct {
	node   int
	values map[string]any
	parts  memo.Parts
	key    string // of its result, hex
}

// keys works out the keys of nodes. Those whose values cannot be worked out are left
// out; their start says what is wrong.
func (l *loop) keys(ctx context.Context, nodes []int) ([]*cacheLookup, error) {
	var around []int
	for _, i := range nodes {
		around = append(around, l.progress.DependenciesOf(l.home(i))...)
	}
	slices.Sort(around)
	if err := l.loadOutputs(ctx, slices.Compact(around)); err != nil {
		return nil, err
	}
	list := make([]*cacheLookup, 0, len(nodes))
	ids := map[uuid.UUID]struct{}{}
	for _, i := range nodes {
		values, err := l.keyValues(ctx, i)
		if unread(err) {
			return nil, err
		}
		if err != nil {
			continue
		}
		artifactsIn(values, ids)
		list = append(list, &cacheLookup{node: i, values: values})
	}
	hashes, err := l.hashes(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		n := &l.nodes[s.node]
		s.parts = memo.Of(l.work(n.op), n.op.Cache.Version, s.values, func(ref map[string]any) (string, bool) { return contentOf(hashes, ref) })
		graph, name := n.graph, n.op.Name
		if n.op.Tags != nil { // who runs the same template does the same, wherever that is
			graph, name = "", n.op.TemplateName()
		}
		key := s.parts.Key(l.row.WorkflowID.String(), graph, name)
		s.key = hex.EncodeToString(key[:])
	}
	return list, nil
}

// keyValues are all values that an attempt of node i gets and that make a difference:
// its typed inputs, and what the nodes before it put out, each as <node>.<output>.
func (l *loop) keyValues(ctx context.Context, i int) (map[string]any, error) {
	op := l.operator(i)
	values := map[string]any{}
	for _, in := range op.Inputs {
		if op.Cache.Ignores(in.Name) {
			continue
		}
		value, err := l.typedWith(ctx, i, in, values)
		if err != nil {
			return nil, err
		}
		values[in.Name] = l.pinned(ctx, value, kindOfInput(op, in.Name))
	}
	if op.Tags != nil {
		return values, nil // its texts name what they read
	}
	for _, d := range l.progress.DependenciesOf(l.home(i)) {
		before := l.operator(d)
		if op.Cache.Ignores(before.Name) {
			continue
		}
		for name, value := range l.outputs[d] {
			values[before.Name+"."+name] = value
		}
	}
	return values, nil
}

// work is the fingerprint of what an operator does.
func (l *loop) work(op *workflow.Operator) [32]byte {
	known, ok := l.works[op]
	if !ok {
		if l.works == nil {
			l.works = map[*workflow.Operator][32]byte{}
		}
		known = op.Work()
		l.works[op] = known
	}
	return known
}

// hashes are the bytes of artifacts, as far as they are known.
func (l *loop) hashes(ctx context.Context, ids map[uuid.UUID]struct{}) (map[string]string, error) {
	hashes := map[string]string{}
	if len(ids) == 0 {
		return hashes, nil
	}
	for _, a := range l.batch.artifacts { // they are not written yet
		hashes[a.ID.String()] = a.SHA256
	}
	all := make([]uuid.UUID, 0, len(ids))
	for id := range ids {
		if _, ok := hashes[id.String()]; !ok {
			all = append(all, id)
		}
	}
	if len(all) == 0 {
		return hashes, nil
	}
	rows, err := l.service.queries.ArtifactHashes(ctx, all, l.row.ProjectID)
	if err != nil {
		return nil, &readError{fmt.Errorf("look for artifacts: %w", err)}
	}
	for _, r := range rows {
		hashes[r.ID.String()] = hex.EncodeToString(r.Sha256)
	}
	return hashes, nil
}

// pinned replaces the entries of the catalogue that value names by their bytes: a name
// without a version may mean others tomorrow.
func (l *loop) pinned(ctx context.Context, value any, kind typeregistry.Kind) any {
	switch v := value.(type) {
	case map[string]any:
		if ref, ok := v["$catalogue"].(string); ok && l.service.config.Catalogue != nil {
			if blob, err := l.service.config.Catalogue.Blob(ctx, kind, ref); err == nil {
				return map[string]any{"$file": blob.SHA256}
			}
			return v
		}
		out := make(map[string]any, len(v))
		for name, item := range v {
			out[name] = l.pinned(ctx, item, kind)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for k, item := range v {
			out[k] = l.pinned(ctx, item, kind)
		}
		return out
	}
	return value
}

// contentOf is the hash of the bytes that a reference stands for; false for what is no
// reference, or stands for nothing that is known: that is then its own value.
func contentOf(hashes map[string]string, ref map[string]any) (string, bool) {
	if id, ok := ref["$artifact"].(string); ok {
		hash, known := hashes[id]
		return hash, known
	}
	hash, ok := ref["$file"].(string)
	return hash, ok
}
