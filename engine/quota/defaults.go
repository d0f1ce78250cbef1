package quota

import (
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// maxDefault bounds a default request: 1,000 cores, or 1 TiB.
const maxDefault = 1 << 20

// Requests returns the default CPU (in millicores) and memory (in MiB) of each pod of a
// task in project that requests none: those of the nearest level, else the
// installation's default.
func (l *Levels) Requests(project uuid.UUID) (cpuMillis, memoryMiB int) {
	tree := l.fair.Tree()
	of := func(r fair.Resource) int {
		for id := project; ; {
			level, ok := tree.Level(id)
			if !ok {
				return int(l.requests[r])
			}
			if n, ok := level.Limits.Default[r]; ok {
				return int(n)
			}
			id = level.Parent
		}
	}
	return of(fair.CPU), of(fair.Memory)
}

// checkDefaults reports invalid default requests.
func checkDefaults(v fair.Vector) error {
	var problems []apperr.Field
	for _, r := range slices.Sorted(maps.Keys(v)) {
		path := "default." + string(r)
		switch {
		case r != fair.CPU && r != fair.Memory:
			problems = append(problems, apperr.Field{Path: path, Message: "Only cpu and memory can have a default request."})
		case v[r] < 0 || v[r] > maxDefault:
			problems = append(problems, apperr.Field{Path: path, Message: "Enter a number from 0 to 1048576."})
		}
	}
	if len(problems) > 0 {
		return apperr.InvalidFields("The default requests are not valid.", problems)
	}
	return nil
}
