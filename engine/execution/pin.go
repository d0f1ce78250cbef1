package execution

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// entryUse is an entry of the catalogue that an execution reads, for its lineage.
type entryUse struct {
	entry            uuid.UUID
	input, requested string
}

// pinner replaces references to entries of the catalogue by the versions that they mean now: an
// alias, a stage or the newest version may mean another one when a node starts.
type pinner struct {
	service *LaunchService
	uses    []entryUse
}

// pin returns the inputs of a launch with pinned references, and what l reads from the catalogue.
// A reference inside the definition stays as it is.
func (s *LaunchService) pin(ctx context.Context, l *launch, inputs map[string]any) (map[string]any, error) {
	if s.config.Catalogue == nil {
		return inputs, nil
	}
	ctx = auth.AsSystemIn(ctx, l.subject.TenantID, l.subject.ProjectID)
	p := &pinner{service: s}
	if bytes.Contains(mustJSON(inputs), []byte("$catalogue")) {
		pinned := make(map[string]any, len(inputs))
		for name, value := range inputs {
			pinned[name] = value
			field, ok := l.version.Definition.Inputs.Field(name)
			if !ok {
				continue
			}
			v, err := p.value(ctx, value, name, entryKinds(field.Type, nil))
			if err != nil {
				return nil, err
			}
			pinned[name] = v
		}
		inputs = pinned
	}
	for i := range l.version.Definition.Operators {
		op := &l.version.Definition.Operators[i]
		for _, in := range op.Inputs {
			if in.Source.Kind != workflow.SourceLiteral {
				continue
			}
			if _, err := p.value(ctx, in.Source.Value, op.Name+"."+in.Name, entryKinds(in.Type, nil)); err != nil {
				return nil, err
			}
		}
	}
	l.entries = p.uses
	return inputs, nil
}

// value returns value with pinned references.
func (p *pinner) value(ctx context.Context, value any, input string, kinds []typeregistry.Kind) (any, error) {
	if len(kinds) == 0 {
		return value, nil
	}
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			var err error
			if ref, ok := item.(string); ok && key == "$catalogue" {
				out[key], err = p.entry(ctx, ref, input, kinds)
			} else {
				out[key], err = p.value(ctx, item, input, kinds)
			}
			if err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			var err error
			if out[i], err = p.value(ctx, item, input, kinds); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return value, nil
}

// entry returns the reference to the version that ref means. A reference that no longer means any
// stays: the node that reads it reports that.
func (p *pinner) entry(ctx context.Context, ref, input string, kinds []typeregistry.Kind) (string, error) {
	for _, kind := range kinds {
		id, pinned, err := p.service.config.Catalogue.Pin(ctx, kind, ref)
		if apperr.Is(err, apperr.NotFound) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("resolve %s %q: %w", kind, ref, err)
		}
		p.uses = append(p.uses, entryUse{id, input, ref})
		return pinned, nil
	}
	return ref, nil
}

// entryKinds returns the kinds of entries that a value of t can refer to.
func entryKinds(t *typeregistry.Type, kinds []typeregistry.Kind) []typeregistry.Kind {
	if t == nil {
		return kinds
	}
	switch t.Kind {
	case typeregistry.KindDataset, typeregistry.KindFeatureSet, typeregistry.KindModel:
		if !slices.Contains(kinds, t.Kind) {
			kinds = append(kinds, t.Kind)
		}
	default:
	}
	kinds = entryKinds(t.Elem, kinds)
	for _, v := range t.Variants {
		kinds = entryKinds(v.Type, kinds)
	}
	for _, f := range t.Fields {
		kinds = entryKinds(f.Type, kinds)
	}
	return kinds
}

// insertEntryUses records what a new execution reads from the catalogue.
func insertEntryUses(ctx context.Context, q *db.Queries, l *launch) error {
	if len(l.entries) == 0 {
		return nil
	}
	var ids []uuid.UUID
	var inputs, requested []string
	for _, u := range l.entries {
		ids, inputs, requested = append(ids, u.entry), append(inputs, u.input), append(requested, u.requested)
	}
	if err := q.InsertEntryUses(ctx, l.id, ids, inputs, requested); err != nil {
		return fmt.Errorf("record the used entries of the catalogue: %w", err)
	}
	return nil
}
