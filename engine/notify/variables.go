package notify

import (
	"encoding/json"
	"time"

	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/platform/units"
)

// Variable is a value that templates read.
type Variable struct{ Name, About string }

// Variables returns what the templates of an event can read, in display order. A template of AnyEvent
// reads what all events have.
func Variables(event Event) []Variable {
	list := []Variable{
		{"title", "the built-in title"},
		{"text", "the built-in text, such as the error; empty if there is none"},
		{"url", "the page to open"},
		{"event", "the event, such as execution.failed"},
		{"level", "info, ok, warning or error"},
		{"at", "when it happened, such as 2026-11-24T12:00:00Z"},
	}
	execution := []Variable{
		{"workflow", "the name of the workflow"}, {"execution_id", "the ID of the execution"}, {"version", "the version of the workflow"}, {"submitted_by", "who launched it"}, {"created_at", "when it was launched"},
	}
	switch event {
	case Failed, FirstFailure, Recovered, Slow, Succeeded, Cancelled:
		list = append(append(list, execution...),
			Variable{"status", "FAILED, SUCCEEDED or CANCELLED"}, Variable{"error", "the error; empty if there is none"}, Variable{"started_at", "when its first node started; empty if none has"},
			Variable{"finished_at", "when it ended"}, Variable{"duration", "from its start to its end, such as 2 min 05 s; empty if no node has started"},
			Variable{"node", "the first node that failed; empty if none did"}, Variable{"project", "the name of the project"}, Variable{"name", "the name of the execution; empty if it has none"},
			Variable{"schedule", "the schedule that launched it; empty if none did"}, Variable{"trigger", "the trigger that launched it; empty if none did"})
	case Waiting:
		list = append(list, execution...)
	case Overdue:
		list = append(append(list, execution...), Variable{"name", "the name of the execution; empty if it has none"}, Variable{"status", "PENDING, RUNNING or PAUSED"}, Variable{"deadline", "when it should have finished"})
	case Approval:
		list = append(list, Variable{"workflow", "the name of the workflow"}, Variable{"execution_id", "the ID of the execution"}, Variable{"node", "the node that waits"}, Variable{"node_index", "the number of that node"})
	case SchedulePaused:
		list = append(list, Variable{"schedule", "the name of the schedule"}, Variable{"schedule_id", "its ID"}, Variable{"workflow", "the workflow that it launches"})
	case ScheduleRefused:
		list = append(list, Variable{"schedule", "the name of the schedule"}, Variable{"schedule_id", "its ID"}, Variable{"workflow", "the workflow that it launches"},
			Variable{"run", "the run that was rejected, such as 2026-11-24 02:00 CET"})
	case TriggerFailed:
		list = append(list, Variable{"trigger", "the name of the trigger"}, Variable{"trigger_id", "its ID"}, Variable{"workflow", "the workflow that it launches"}, Variable{"subject", "a short description of the event"})
	case TriggerPaused:
		list = append(list, Variable{"trigger", "the name of the trigger"}, Variable{"trigger_id", "its ID"}, Variable{"workflow", "the workflow that it launches"})
	case StageChanged:
		list = append(list, Variable{"model", "the name of the model"}, Variable{"stage", `its new stage; "none" without one`}, Variable{"version", "the version of the model"},
			Variable{"changed_by", "who changed the stage"}, Variable{"reason", "the reason that was entered"}, Variable{"detail", "a description of the change"})
	case AnyEvent:
	}
	return list
}

// variablesOf returns the variables of an event with their values of a message. A value that the
// message lacks is empty. They come from the stored message alone, from which the values of secrets
// have been removed.
func variablesOf(event Event, m message.Message) map[string]any {
	var data map[string]any
	if raw, err := json.Marshal(m.Data); err == nil {
		_ = json.Unmarshal(raw, &data) // what was just encoded
	}
	if data == nil { // a message without data
		data = map[string]any{}
	}
	data["title"], data["text"], data["url"], data["event"], data["level"], data["at"] = m.Title, m.Text, m.URL, m.Event, string(m.Level), m.At.UTC().Format(time.RFC3339)
	data["duration"] = durationOf(data["started_at"], data["finished_at"])
	env := map[string]any{}
	for _, v := range Variables(event) {
		if env[v.Name] = data[v.Name]; env[v.Name] == nil {
			env[v.Name] = ""
		}
	}
	return env
}

func durationOf(started, finished any) string {
	from, to := text(started), text(finished)
	begin, err := time.Parse(time.RFC3339, from)
	if err != nil {
		return ""
	}
	end, err := time.Parse(time.RFC3339, to)
	if err != nil {
		return ""
	}
	return units.Duration(end.Sub(begin))
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
