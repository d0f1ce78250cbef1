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

// cacheLookup is a node of which the cache is asked.
type cacheLookup struct {
	node   int
	values map[string]any
	parts  memo.Parts
	key    string // of its result, hex
}

// keys works out the keys of nodes. Those whose values cannot be worked out are left
// out; their start says what is wrong.
func (ch *cacheLookups) keys(ctx context.Context, nodes []int) ([]*cacheLookup, error) {
	var around []int
	for _, i := range nodes {
		around = append(around, ch.progress.DependenciesOf(ch.home(i))...)
	}
	slices.Sort(around)
	if err := ch.loadOutputs(ctx, slices.Compact(around)); err != nil {
		return nil, err
	}
	list := make([]*cacheLookup, 0, len(nodes))
	ids := map[uuid.UUID]struct{}{}
	for _, i := range nodes {
		if ch.nodes[i].op.Cache.Key != "" {
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
		if unread(err) {
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
		n := &ch.nodes[s.node]
		if n.op.Cache.Key != "" {
			continue
		}
		s.parts = memo.Of(ch.work(n.op), n.op.Cache.Version, s.values, func(ref map[string]any) (string, bool) { return contentOf(hashes, ref) })
		graph, name := n.graph, n.op.Name
		if n.op.Tags != nil { // who runs the same template does the same, wherever that is
			graph, name = "", n.op.TemplateName()
		}
		key := s.parts.Key(ch.row.WorkflowID.String(), graph, name)
		s.key = hex.EncodeToString(key[:])
	}
	return list, nil
}

// writtenKey is the lookup of node i, whose definition writes the key; nil when a tag of the
// key has no value. Graphs and tasks have keys of their own: a task may wait for the result
// of an equal task, which ends by itself, but not for a graph, of which it may be a part.
func (ch *cacheLookups) writtenKey(ctx context.Context, i int) (*cacheLookup, error) {
	values, err := ch.boundInputs(ctx, i)
	if unread(err) {
		return nil, err
	}
	var text string
	if err == nil {
		text, err = ch.within(ctx, i, values).text(ch.nodes[i].op.Cache.Key, true)
	}
	if unread(err) {
		return nil, err
	}
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // its start says what is wrong
	}
	cache := ch.nodes[i].op.Cache
	parts := memo.Of([sha256.Size]byte{}, cache.Version, map[string]any{"key": text}, func(map[string]any) (string, bool) { return "", false })
	key := parts.Key("memoize", string(ch.operator(i).Type), cache.Store)
	return &cacheLookup{node: i, parts: parts, key: hex.EncodeToString(key[:])}, nil
}

// keyValues are all values that an attempt of node i gets and that make a difference:
// its typed inputs, and what the nodes before it put out, each as <node>.<output>.
func (ch *cacheLookups) keyValues(ctx context.Context, i int) (map[string]any, error) {
	op := ch.operator(i)
	values := map[string]any{}
	for _, in := range op.Inputs {
		if op.Cache.Ignores(in.Name) {
			continue
		}
		value, err := ch.typedWith(ctx, i, in, values)
		if err != nil {
			return nil, err
		}
		values[in.Name] = ch.pinned(ctx, value, kindOfInput(op, in.Name))
	}
	if op.Tags != nil {
		return values, nil // its texts name what they read
	}
	for _, d := range ch.progress.DependenciesOf(ch.home(i)) {
		before := ch.operator(d)
		if op.Cache.Ignores(before.Name) {
			continue
		}
		for name, value := range ch.outputs[d] {
			values[before.Name+"."+name] = value
		}
	}
	return values, nil
}

// work is the fingerprint of what an operator does.
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

// hashes are the bytes of artifacts, as far as they are known.
func (ch *cacheLookups) hashes(ctx context.Context, ids map[uuid.UUID]struct{}) (map[string]string, error) {
	hashes := map[string]string{}
	if len(ids) == 0 {
		return hashes, nil
	}
	for _, a := range ch.artifacts.part.fresh { // they are not written yet
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
	rows, err := ch.service.queries.ArtifactHashes(ctx, all, ch.row.ProjectID)
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
func (ch *cacheLookups) pinned(ctx context.Context, value any, kind typeregistry.Kind) any {
	switch v := value.(type) {
	case map[string]any:
		if ref, ok := v["$catalogue"].(string); ok && ch.service.config.Catalogue != nil {
			if blob, err := ch.service.config.Catalogue.Blob(ctx, kind, ref); err == nil {
				return map[string]any{"$file": blob.SHA256}
			}
			return v
		}
		out := make(map[string]any, len(v))
		for name, item := range v {
			out[name] = ch.pinned(ctx, item, kind)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for k, item := range v {
			out[k] = ch.pinned(ctx, item, kind)
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
