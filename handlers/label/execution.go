package label

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// LiveStates are the states of executions that have not ended.
func LiveStates() []query.State {
	return []query.State{query.Pending, query.Running, query.Paused}
}

// ExecutionTitle is the execution's own name, else its workflow.
func ExecutionTitle(e query.Execution) string {
	if e.Name != "" {
		return e.Name
	}
	return e.WorkflowName
}

// ExecutionSummary is the most important fact about an execution on one line.
func ExecutionSummary(e query.Execution) string {
	c := e.Counts
	prefix := ""
	if e.Name != "" {
		prefix = e.WorkflowName + " · "
	}
	switch {
	case e.Error != nil && e.Error.Message != "":
		if e.Error.Node != "" {
			return ui.Short(prefix+e.Error.Node+": "+Cause(e.Error.Message), 120)
		}
		return ui.Short(prefix+Cause(e.Error.Message), 120)
	case len(e.CurrentNodes) > 0:
		return ui.Short(prefix+strings.Join(e.CurrentNodes, ", "), 120)
	case e.Status == query.Succeeded:
		return prefix + units.Plural(c.Total, "node", "nodes")
	case e.Status.Ended():
		return prefix + SucceededOf(c)
	case c.Running+c.Retrying+c.Queued == 0 && c.AwaitingApproval > 0:
		return prefix + units.Plural(c.AwaitingApproval, "node awaits approval", "nodes await approval")
	case c.Running+c.Retrying+c.Queued == 0 && c.Ready > 0:
		return prefix + units.Plural(c.Ready, "node waits", "nodes wait")
	}
	return fmt.Sprintf("%s%s of %s ended", prefix, units.Number(int64(c.Ended())), units.Plural(c.Total, "node", "nodes"))
}

// SucceededOf is how far an execution that has ended got: "2 of 5 nodes succeeded".
func SucceededOf(c query.Counts) string {
	return units.Number(int64(c.Succeeded)) + " of " + units.Plural(c.Total, "node", "nodes") + " succeeded"
}

// Cause is an error message without the introduction "The command exited with code 1: ", for places
// with room for a few words.
func Cause(message string) string {
	rest, found := strings.CutPrefix(message, "The command exited with code ")
	if !found {
		return message
	}
	if cause, found := strings.CutPrefix(strings.TrimLeft(rest, "0123456789"), ": "); found {
		return cause
	}
	return message
}

// TookSoFar is how long an execution ran, or has run until now.
func TookSoFar(now time.Time, e query.Execution) time.Duration {
	begin := e.CreatedAt
	if e.StartedAt != nil {
		begin = *e.StartedAt
	}
	if e.FinishedAt != nil {
		return e.FinishedAt.Sub(begin)
	}
	return now.Sub(begin)
}

// ShortID is the random end of an id: "#a1b2c3".
func ShortID(id uuid.UUID) string {
	s := id.String()
	return "#" + s[len(s)-6:]
}

// FrozenRow is a row without the durations that the browser updates.
func FrozenRow(row views.ExecutionRow) views.ExecutionRow {
	if row.Since != "" {
		row.Took = ""
	}
	return row
}
