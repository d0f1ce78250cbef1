package execution

import (
	"context"
	"runtime"
	"slices"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// Preparer is a launcher that sets up attempts in advance. Start probably follows, with the same
// attempts; the launcher executes nothing before, and discards what is not started.
type Preparer interface {
	Prepare(ctx context.Context, attempts []launcher.Attempt)
}

// prepare lets the launcher set up the attempts that the flush starts while PostgreSQL writes the
// flush. This pays while processors are idle, and for attempts that need nothing but their inputs.
func (la *launches) prepare(ctx context.Context) {
	clear(la.prepared)
	preparer, ok := la.loop.driver.config.Launcher.(Preparer)
	if !ok || la.loop.driver.config.Cluster || la.loop.progress.Count(dag.Queued)+la.loop.progress.Count(dag.Running) > runtime.NumCPU() {
		return
	}
	var attempts []launcher.Attempt
	for _, i := range la.starts {
		if !la.plain(i) {
			continue
		}
		spec, err := la.loop.specs.build(ctx, i)
		if err != nil {
			continue // it is built again after the commit, which handles the error
		}
		if la.prepared == nil {
			la.prepared = map[int]launcher.Attempt{}
		}
		la.prepared[i] = spec
		attempts = append(attempts, spec)
	}
	if len(attempts) > 0 {
		go preparer.Prepare(context.WithoutCancel(ctx), attempts)
	}
}

// plain reports whether the first attempt of node i needs no files and no secrets, and all outputs that
// it receives are in memory: its spec then depends on nothing that the flush writes, and building it
// reads nothing from the database while the flush holds a connection and locks.
func (la *launches) plain(i int) bool {
	op, n := la.loop.operator(i), &la.loop.nodes[i]
	if op.Pool != "" || len(op.Host.Secrets) > 0 || op.HTTP != nil || op.SQL != nil || op.GRPC != nil || op.Sensor != nil || op.Tags != nil || n.attempt != 1 || n.origin != nil || len(op.Parameters) > 0 {
		return false
	}
	for _, input := range op.Inputs {
		if holdsFile(input.Type) || input.Type.HoldsSecret() {
			return false
		}
	}
	dependencies := la.loop.progress.DependenciesOf(la.loop.home(i))
	for _, d := range slices.Concat(dependencies, la.loop.specs.furtherUp(i, dependencies)) {
		if _, ok := la.loop.values.outputs[d]; !ok {
			return false
		}
		if slices.ContainsFunc(la.loop.operator(d).Outputs, func(o workflow.OperatorOutput) bool { return holdsFile(o.Type) }) {
			return false
		}
	}
	return true
}

// holdsFile reports whether a value of type t is a file or contains one.
func holdsFile(t *typeregistry.Type) bool {
	return t != nil && (t.IsBlob() || holdsFile(t.Elem) ||
		slices.ContainsFunc(t.Fields, func(f typeregistry.Field) bool { return holdsFile(f.Type) }) ||
		slices.ContainsFunc(t.Variants, func(v typeregistry.Variant) bool { return holdsFile(v.Type) }))
}

// spec returns the attempt of node i that was prepared, or builds it.
func (la *launches) spec(ctx context.Context, i int) (launcher.Attempt, bool) {
	if spec, ok := la.prepared[i]; ok {
		return spec, true
	}
	return la.loop.specs.of(ctx, i)
}
