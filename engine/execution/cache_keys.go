package execution

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/memo"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// cacheLookup is a node for which the cache is searched.
type cacheLookup struct {
	node   int
	values map[string]any
	parts  memo.Parts
	key    string // of its result, hex
}

// keys computes the keys of nodes. It leaves out nodes whose values cannot be computed;
// their start reports the problem.
func (ch *cacheLookups) keys(ctx context.Context, nodes []int) ([]*cacheLookup, error) {
	var around []int
	for _, i := range nodes {
		around = append(around, ch.loop.progress.DependenciesOf(ch.loop.home(i))...)
	}
	slices.Sort(around)
	if err := ch.loop.values.loadOutputs(ctx, slices.Compact(around)); err != nil {
		return nil, err
	}
	list := make([]*cacheLookup, 0, len(nodes))
	ids := map[uuid.UUID]struct{}{}
	for _, i := range nodes {
		if ch.loop.nodes[i].op.Cache.Key != "" {
			s, err := ch.writtenKey(ctx, i)
			if err != nil {
				return nil, err
			}
			if s != nil {
				list = append(list, s)
			}
			continue
		}
		values, err := ch.keyValues(ctx, i)
		if isUnreadable(err) {
			return nil, err
		}
		if err != nil {
			continue
		}
		artifactsIn(values, ids)
		list = append(list, &cacheLookup{node: i, values: values})
	}
	hashes, err := ch.hashes(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		n := &ch.loop.nodes[s.node]
		if n.op.Cache.Key != "" {
			continue
		}
		s.parts = memo.Of(ch.work(n.op), n.op.Cache.Version, s.values, func(ref map[string]any) (string, bool) { return contentOf(hashes, ref) })
		graph, name := n.graph, n.op.Name
		if n.op.Tags != nil { // nodes that run the same template do the same work, anywhere in the workflow
			graph, name = "", n.op.TemplateName()
		}
		key := s.parts.Key(ch.loop.row.WorkflowID.String(), graph, name)
		s.key = hex.EncodeToString(key[:])
	}
	return list, nil
}

// writtenKey returns the lookup of node i, whose definition sets the key; nil when a tag of
// the key has no value. Graphs and tasks have separate keys: a task may wait for the result
// of an equal task, which ends by itself, but not for a graph that may contain it.
func (ch *cacheLookups) writtenKey(ctx context.Context, i int) (*cacheLookup, error) {
	values, err := ch.loop.values.boundInputs(ctx, i)
	if isUnreadable(err) {
		return nil, err
	}
	var text string
	if err == nil {
		text, err = ch.loop.values.within(ctx, i, values).text(ch.loop.nodes[i].op.Cache.Key, true)
	}
	if isUnreadable(err) {
		return nil, err
	}
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // its start reports the error
	}
	cache := ch.loop.nodes[i].op.Cache
	parts := memo.Of([sha256.Size]byte{}, cache.Version, map[string]any{"key": text}, func(map[string]any) (string, bool) { return "", false })
	key := parts.Key("memoize", string(ch.loop.operator(i).Type), cache.Store)
	return &cacheLookup{node: i, parts: parts, key: hex.EncodeToString(key[:])}, nil
}

// keyValues returns all values of an attempt of node i that affect its result: its typed
// inputs, and the outputs of its dependencies, each as <node>.<output>.
func (ch *cacheLookups) keyValues(ctx context.Context, i int) (map[string]any, error) {
	op := ch.loop.operator(i)
	values := map[string]any{}
	for _, in := range op.Inputs {
		if op.Cache.Ignores(in.Name) {
			continue
		}
		value, err := ch.loop.values.typedWith(ctx, i, in, values)
		if err != nil {
			return nil, err
		}
		if values[in.Name], err = ch.pinned(ctx, value, kindOfInput(op, in.Name)); err != nil {
			return nil, fmt.Errorf("input %s: %w", in.Name, err)
		}
	}
	if op.Tags != nil {
		return values, nil // its texts name their sources
	}
	for _, d := range ch.loop.progress.DependenciesOf(ch.loop.home(i)) {
		before := ch.loop.operator(d)
		if op.Cache.Ignores(before.Name) {
			continue
		}
		for name, value := range ch.loop.values.outputs[d] {
			values[before.Name+"."+name] = value
		}
	}
	return values, nil
}

// work is the fingerprint of an operator's code and settings.
func (ch *cacheLookups) work(op *workflow.Operator) [32]byte {
	known, ok := ch.fingerprints[op]
	if !ok {
		if ch.fingerprints == nil {
			ch.fingerprints = map[*workflow.Operator][32]byte{}
		}
		known = op.Work()
		ch.fingerprints[op] = known
	}
	return known
}

// hashes returns the hashes of artifacts, as far as they are known.
func (ch *cacheLookups) hashes(ctx context.Context, ids map[uuid.UUID]struct{}) (map[string]string, error) {
	hashes := map[string]string{}
	if len(ids) == 0 {
		return hashes, nil
	}
	for _, a := range ch.loop.artifacts.part.fresh { // they are not written yet
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
	rows, err := ch.loop.driver.queries.ArtifactHashes(ctx, all, ch.loop.row.ProjectID)
	if err != nil {
		return nil, &readError{fmt.Errorf("find artifacts: %w", err)}
	}
	for _, r := range rows {
		hashes[r.ID.String()] = hex.EncodeToString(r.Sha256)
	}
	return hashes, nil
}

// pinned replaces the catalogue entries in value by the hashes of their bytes: a name without a
// version may refer to other bytes tomorrow.
func (ch *cacheLookups) pinned(ctx context.Context, value any, kind typeregistry.Kind) (any, error) {
	switch v := value.(type) {
	case map[string]any:
		if ref, ok := v["$catalogue"].(string); ok && ch.loop.driver.config.Catalogue != nil {
			blob, err := ch.loop.driver.config.Catalogue.Blob(ctx, kind, ref)
			if err != nil {
				return nil, unlessRefused(fmt.Errorf("%s %q: %w", kind, ref, err))
			}
			return map[string]any{"$file": blob.SHA256}, nil
		}
		out := make(map[string]any, len(v))
		for name, item := range v {
			var err error
			if out[name], err = ch.pinned(ctx, item, kind); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for k, item := range v {
			var err error
			if out[k], err = ch.pinned(ctx, item, kind); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return value, nil
}

// contentOf returns the hash of the bytes of a reference; false for a value that is not a
// reference, or is an unknown one: such a value is used directly.
func contentOf(hashes map[string]string, ref map[string]any) (string, bool) {
	if id, ok := ref["$artifact"].(string); ok {
		hash, known := hashes[id]
		return hash, known
	}
	hash, ok := ref["$file"].(string)
	return hash, ok
}
