package quotas

import (
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/handlers/amount"
)

// quotaGroup is a set of resources that the table shows together.
type quotaGroup struct {
	key, name string
	resources []fair.Resource
}

// typesPerGroup keeps the table readable without scrolling on a laptop.
const typesPerGroup = 3

// quotaGroups are the choices of resources. The first is the default: GPUs by type, or CPU if
// there are no GPUs.
func quotaGroups(o quota.Overview) []quotaGroup {
	var gpus []fair.Resource
	total := false
	for _, r := range o.Resources {
		if r.GPUType() != "" {
			gpus = append(gpus, r)
		}
	}
	for _, n := range o.Nodes {
		_, limited := n.Limits.Limit[fair.GPU]
		total = total || limited && n.Kind != "installation"
	}
	if total || len(gpus) == 0 && slices.Contains(o.Resources, fair.GPU) {
		gpus = append([]fair.Resource{fair.GPU}, gpus...)
	}
	var groups []quotaGroup
	for part := range slices.Chunk(gpus, typesPerGroup) {
		g := quotaGroup{key: "gpus", resources: part}
		if len(groups) > 0 {
			g.key = "gpus-" + strconv.Itoa(len(groups)+1)
		}
		var names []string
		for _, r := range part {
			names = append(names, amount.Name(r))
		}
		g.name = strings.Join(names, ", ")
		groups = append(groups, g)
	}
	compute := quotaGroup{"compute", "CPU, memory, pods", []fair.Resource{fair.CPU, fair.Memory, fair.Pods}}
	other := quotaGroup{"other", "Executions, storage", []fair.Resource{fair.Executions, fair.Storage}}
	if !hasGPUs(o) {
		return append(append([]quotaGroup{compute}, groups...), other)
	}
	return append(groups, compute, other)
}

// hasGPUs reports whether the installation has a GPU of any type.
func hasGPUs(o quota.Overview) bool {
	for _, n := range o.Nodes {
		for r, most := range n.Limits.Limit {
			if n.Kind == "installation" && most > 0 && (r == fair.GPU || r.GPUType() != "") {
				return true
			}
		}
	}
	return false
}
