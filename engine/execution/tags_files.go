package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/expression"
)

// filePlacement is where a file of an input stands, and which file of a folder is meant.
type filePlacement struct{ path, part string }

// filePlacements are those of the inputs of node i that say something of them.
func (l *loop) filePlacements(ctx context.Context, i int, values map[string]any) (map[string]filePlacement, error) {
	found := map[string]filePlacement{}
	for _, in := range l.operator(i).Inputs {
		if in.Path == "" && in.SubPath == "" {
			continue
		}
		own := l.within(ctx, i, values)
		giver := own
		if in.SubPathGiven {
			giver = l.at(ctx, i)
		}
		path, err := own.text(in.Path, true)
		if err != nil {
			return nil, fmt.Errorf("the path of input %s: %w", in.Name, err)
		}
		part, err := giver.text(in.SubPath, true)
		if err != nil {
			return nil, fmt.Errorf("the part of input %s: %w", in.Name, err)
		}
		found[in.Name] = filePlacement{path, part}
	}
	return found, nil
}

// byKey is the artifact that a task of this execution kept under a key; of several the
// one that was kept last.
func (p *tagScope) byKey(key string) (any, error) {
	key, err := p.text(key, true)
	if err != nil {
		return nil, err
	}
	l := p.loop
	var at *time.Time
	var found any
	for i := range l.nodes {
		n := &l.nodes[i]
		if l.progress.State(i) != dag.Succeeded || l.fansOut(i) {
			continue
		}
		for _, o := range n.op.Outputs {
			if o.Key == "" || at != nil && n.finishedAt.Before(*at) {
				continue
			}
			if own, err := l.within(p.ctx, i, l.inputValues(p.ctx, i)).text(o.Key, false); err != nil || own != key {
				continue
			}
			if err := l.loadOutputs(p.ctx, []int{i}); err != nil {
				p.broken = err
				return nil, err
			}
			if v, ok := l.outputs[i][o.Name]; ok && v != nil {
				found, at = v, n.finishedAt
			}
		}
	}
	if at == nil {
		return nil, fmt.Errorf("no task of this execution has kept an artifact under the key %q: %w", key, &expression.UnknownError{Name: key})
	}
	return found, nil
}
