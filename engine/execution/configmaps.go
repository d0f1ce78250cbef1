package execution

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
)

// configMapTimeout limits one read of a ConfigMap.
const configMapTimeout = 5 * time.Second

// configMaps reads values from the ConfigMaps of a project.
type configMaps struct{ *core }

// value reads one value of a ConfigMap of a project. A missing value is its
// default, or else an Invalid error; Unavailable means that the cluster does not respond.
func (s *configMaps) value(ctx context.Context, project uuid.UUID, ref workflow.ConfigMapKey) (string, error) {
	if s.config.ConfigMap == nil {
		if ref.Default != nil {
			return *ref.Default, nil
		}
		return "", apperr.New(apperr.Invalid, "%s", noConfigMaps(ref))
	}
	ctx, cancel := context.WithTimeout(ctx, configMapTimeout)
	defer cancel()
	values, err := s.config.ConfigMap(ctx, project, ref.Name)
	missing := apperr.Is(err, apperr.NotFound)
	if err != nil && !missing {
		return "", err
	}
	value, ok := values[ref.Key]
	switch {
	case ok:
		return value, nil
	case ref.Default != nil:
		return *ref.Default, nil
	case missing:
		return "", apperr.New(apperr.Invalid, "%s (%s)", strings.TrimSuffix(apperr.MessageOf(err), "."), ref.At)
	}
	return "", apperr.New(apperr.Invalid, "The ConfigMap %s has no key %q (%s)", ref.Name, ref.Key, ref.At)
}

// noConfigMaps explains why ref cannot be read.
func noConfigMaps(ref workflow.ConfigMapKey) string {
	return fmt.Sprintf("This value is the key %s of the ConfigMap %s, but this server runs tasks as local processes, without ConfigMaps. Set a default in valueFrom (%s).", ref.Key, ref.Name, ref.At)
}

// fill adds the inputs of a launch that come from ConfigMaps, and returns the
// problems of those that cannot be read.
func (s *configMaps) fill(ctx context.Context, d *workflow.Definition, project uuid.UUID, inputs map[string]any) ([]apperr.Field, error) {
	var problems []apperr.Field
	for _, name := range slices.Sorted(maps.Keys(d.FromConfigMaps)) {
		if inputs[name] != nil {
			continue
		}
		value, err := s.value(ctx, project, d.FromConfigMaps[name])
		switch {
		case apperr.Is(err, apperr.Invalid):
			problems = append(problems, apperr.Field{Path: "inputs." + name, Message: apperr.MessageOf(err)})
		case err != nil:
			return nil, err
		default:
			inputs[name] = value
		}
	}
	return problems, nil
}

// atLaunch reports whether a launch reads ConfigMaps itself; otherwise the process that
// drives the execution reads them, because this process has no access to the cluster.
func (s *configMaps) atLaunch() bool { return s.config.ConfigMap != nil || !s.config.Cluster }

// withoutCluster reports what operators read from ConfigMaps when there is no cluster.
func (s *configMaps) withoutCluster(v workflow.Version) []apperr.Field {
	if s.config.Cluster || s.config.ConfigMap != nil {
		return nil
	}
	var fields []apperr.Field
	for at, op := range v.Definition.EveryOperator() {
		for _, in := range op.Inputs {
			if t := in.Source.Tagged; in.Source.Kind == workflow.SourceTags && t.As == workflow.TaggedConfigMap && t.Default == nil {
				fields = append(fields, apperr.Field{Path: at, Message: noConfigMaps(configMapKeyOf(t.Value, nil))})
			}
		}
	}
	return fields
}

func configMapKeyOf(value any, otherwise *string) workflow.ConfigMapKey {
	fields, _ := value.(map[string]any)
	text := func(name string) string {
		s, _ := fields[name].(string)
		return s
	}
	return workflow.ConfigMapKey{Name: text("name"), Key: text("key"), At: text("at"), Default: otherwise}
}

// configMapRead identifies a value that an attempt reads from a ConfigMap.
type configMapRead struct {
	attemptKey
	name, key string
}

// configMap returns the value of a ConfigMap for the current attempt of the node. It is read
// once: the attempt's inputs do not change.
func (p *tagScope) configMap(t workflow.Tagged) (any, error) {
	v, err := p.render(t.Value, true)
	if err != nil {
		return nil, err
	}
	l, ref := p.loop, configMapKeyOf(v, t.Default)
	at := configMapRead{name: ref.Name, key: ref.Key, attemptKey: attemptKey{Node: p.node}}
	if p.node != dag.NoNode {
		at.Attempt = l.nodes[p.node].attempt
	}
	if value, ok := l.values.configMaps[at]; ok {
		return value, nil
	}
	value, err := l.driver.configMaps.value(p.ctx, l.row.ProjectID, ref)
	if apperr.Is(err, apperr.Unavailable) {
		p.broken = &readError{err}
		return nil, p.broken
	}
	if err != nil {
		return nil, err
	}
	if l.values.configMaps == nil {
		l.values.configMaps = map[configMapRead]string{}
	}
	l.values.configMaps[at] = value
	return value, nil
}

// fillInputs reads the inputs of an execution that has not begun from their ConfigMaps. A
// missing value ends the execution.
func (l *loop) fillInputs(ctx context.Context) error {
	d := l.version.Definition
	open := func(name string) bool { return l.inputs[name] == nil }
	if l.status != query.Pending || !slices.ContainsFunc(slices.Collect(maps.Keys(d.FromConfigMaps)), open) {
		return nil
	}
	if l.inputs == nil {
		l.inputs = map[string]any{}
	}
	problems, err := l.driver.configMaps.fill(ctx, d, l.row.ProjectID, l.inputs)
	if err != nil {
		return err
	}
	if len(problems) == 0 && d.InputTags {
		problems = l.values.replaceInputTags(ctx)
	}
	if len(problems) > 0 {
		l.conclusion.refuse(&query.Failure{Code: "inputs", Message: problems[0].Path + ": " + problems[0].Message})
		return nil
	}
	moved, err := l.driver.queries.SetInputs(ctx, mustJSON(l.inputs), l.id, l.lease.epoch)
	if err == nil && moved == 0 {
		err = errFenced
	}
	return err
}

// limitFresh is how long the number of permits from a ConfigMap is cached.
const limitFresh = 5 * time.Second

// lockLimit is the number of permits from a ConfigMap, as it was last read.
type lockLimit struct {
	permits int
	problem string // why it is unknown
	at      time.Time
}

// readLimits reads the permits of the wanted locks, before the transaction that takes the
// locks begins.
func (k *locks) readLimits(ctx context.Context) {
	var locks []workflow.Lock
	if k.loop.status == query.Pending && !k.held {
		locks = slices.Clone(k.loop.version.Definition.Locks)
	}
	for _, i := range k.part.requests {
		locks = append(locks, k.loop.operator(i).Locks...)
	}
	for _, lock := range locks {
		if lock.Limit.Name == "" || k.loop.driver.config.ConfigMap == nil || k.loop.driver.now().Sub(k.limits[lock.Name].at) < limitFresh {
			continue
		}
		if k.limits == nil {
			k.limits = map[string]lockLimit{}
		}
		k.limits[lock.Name] = k.readLimit(ctx, lock)
	}
}

func (k *locks) readLimit(ctx context.Context, lock workflow.Lock) lockLimit {
	limit := lockLimit{at: k.loop.driver.now()}
	value, err := k.loop.driver.configMaps.value(ctx, k.loop.row.ProjectID, lock.Limit)
	if err == nil {
		limit.permits, err = strconv.Atoi(strings.TrimSpace(value))
		if err != nil || limit.permits < 0 {
			err = fmt.Errorf("%s of the ConfigMap %s is not a number", lock.Limit.Key, lock.Limit.Name)
		}
	}
	if err != nil {
		limit.permits, limit.problem = 0, sentence(err)
	}
	return limit
}

// permitsOf returns the number of permits of a lock when no administrator has set it, or why
// it is unknown.
func (k *locks) permitsOf(lock workflow.Lock) (int, string) {
	if limit, ok := k.limits[lock.Name]; ok && lock.Limit.Name != "" {
		return limit.permits, limit.problem
	}
	return lock.Permits, ""
}

// check calls fill if the launch itself reads ConfigMaps, and returns the problems.
func (s *configMaps) check(ctx context.Context, d *workflow.Definition, project uuid.UUID, inputs map[string]any) ([]apperr.Field, error) {
	if len(d.FromConfigMaps) == 0 || !s.atLaunch() {
		return nil, nil
	}
	problems, err := s.fill(ctx, d, project, inputs)
	if err != nil {
		return nil, fmt.Errorf("read values from ConfigMaps: %w", err)
	}
	return problems, nil
}
