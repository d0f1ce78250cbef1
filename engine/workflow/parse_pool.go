package workflow

import (
	"maps"
	"regexp"
	"slices"
)

const (
	maxPoolName   = 63
	maxPoolLabels = 50
)

var (
	poolName       = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	poolLabel      = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_./-]{0,61}[A-Za-z0-9])?$`)
	poolLabelValue = formOf(`^[A-Za-z0-9_.:/-]*$`, 63)
)

// checkPool checks the pool of an operator. Workers run attempts as processes, so an operator of a
// pool has no settings of pods.
func (o *object) checkPool(op *Operator) {
	if op.Pool == "" {
		if len(op.PoolLabels) > 0 {
			o.add(o.at("labels"), "Labels select workers of a pool; add pool: <name>.")
		}
		return
	}
	if !poolName.MatchString(op.Pool) {
		o.add(o.at("pool"), "The name of a pool has lower-case letters, digits and hyphens, such as gpu-lab.")
	}
	if len(op.PoolLabels) > maxPoolLabels {
		o.add(o.at("labels"), "There are %d labels; at most %d are allowed.", len(op.PoolLabels), maxPoolLabels)
	}
	for _, key := range slices.Sorted(maps.Keys(op.PoolLabels)) {
		if value := op.PoolLabels[key]; !poolLabel.MatchString(key) || !poolLabelValue.MatchString(value) {
			o.add(o.at("labels")+"."+shorten(key, 60), "Write labels with letters, digits, _, ., / and -, at most 63 characters each.")
		}
	}
	const reason = "Workers of a pool run tasks as processes of their machine; remove this setting or the pool."
	switch {
	case op.Type != "" && !op.Runs():
		o.add(o.at("pool"), "An operator of type %s does not run attempts.", op.Type)
	case op.Code.Image != "":
		o.add(o.at("code")+".image", reason)
	case op.Resources.Pods > 1:
		o.add(o.at("resources")+".pods", reason)
	case op.Resident:
		o.add(o.at("resident"), reason)
	case len(op.Pod) > 0:
		o.add(o.at("pod"), reason)
	}
}
