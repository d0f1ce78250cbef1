package quota

import (
	"context"
	"fmt"
	"maps"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// today returns limits capped at the capacity of the installation: a limit may be saved
// for a cluster that has yet to grow.
func today(limits fair.Limits, capacity fair.Vector) fair.Limits {
	limits.Limit, limits.Lend = maps.Clone(limits.Limit), maps.Clone(limits.Lend)
	for r, most := range capacity {
		if n, ok := limits.Limit[r]; ok && n > most {
			limits.Limit[r] = most
			if lend, ok := limits.Lend[r]; ok {
				limits.Lend[r] = min(lend, most)
			}
		}
	}
	return limits
}

// Warnings returns a sentence for each limit that exceeds the current capacity of the
// installation.
func (ed *Editor) Warnings(limits fair.Limits) []string {
	capacity := ed.levels.bounds()
	var warnings []string
	for _, r := range limits.Limit.Resources() {
		if most, known := capacity[r]; known && limits.Limit[r] > most {
			warnings = append(warnings, fmt.Sprintf("The limit of %s is %s, but the installation currently has only %s. The rest takes effect when capacity is added.",
				r.Title(), r.Format(limits.Limit[r]), r.Format(most)))
		}
	}
	return warnings
}

// withinAncestors rejects a limit above the saved limit of an ancestor. The tree cannot
// check this when the capacity of the installation caps both.
func (ed *Editor) withinAncestors(ctx context.Context, q *db.Queries, level fair.Level, limits fair.Limits) error {
	var fields []apperr.Field
	for _, id := range ed.fair.Tree().Path(level.ID) {
		if id == level.ID {
			continue
		}
		above, err := ed.setting(ctx, q, id)
		if err != nil {
			return err
		}
		for _, r := range limits.Limit.Resources() {
			if most, ok := above.Limits.Limit[r]; ok && limits.Limit[r] > most {
				fields = append(fields, apperr.Field{Path: "limit." + string(r), Message: fmt.Sprintf("The limit of %s for %s is %s, which exceeds the %s of %s.",
					r.Title(), level.Ref(), r.Format(limits.Limit[r]), r.Format(most), above.Node)})
			}
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return apperr.InvalidFields(fields[0].Message, fields)
}
