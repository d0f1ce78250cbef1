package inbox

import (
	"slices"

	"github.com/flowforge/flowforge/engine/notify"
)

// The events that only users can be notified of. The others are those of notification rules.
const (
	StartedLate    notify.Event = "execution.started_late" // after waiting for some time
	Reclaimed      notify.Event = "quota.reclaimed"        // others needed the capacity that a task had borrowed
	ScheduleFailed notify.Event = "schedule.failed"        // an execution that a schedule launched
	PoolStalled    notify.Event = "pool.stalled"           // tasks wait for a pool without workers
	SweepEnded     notify.Event = "sweep.ended"
	ModelRequest   notify.Event = "model.requested" // someone requests another stage
	ChannelFailing notify.Event = "channel.failing" // does not accept messages
)

// Mode is where a person is notified of an event.
type Mode struct{ Inbox, Email bool }

// ParseMode reads the name of a mode.
func ParseMode(name string) (Mode, bool) {
	for _, m := range []Mode{{}, {Inbox: true}, {Email: true}, {Inbox: true, Email: true}} {
		if m.String() == name {
			return m, true
		}
	}
	return Mode{}, false
}

// String is the name of the mode: off, inbox, email or both.
func (m Mode) String() string {
	switch m {
	case Mode{Inbox: true}:
		return "inbox"
	case Mode{Email: true}:
		return "email"
	case Mode{Inbox: true, Email: true}:
		return "both"
	}
	return "off"
}

func (m Mode) off() bool { return !m.Inbox && !m.Email }

// Group is a kind of events, by which people filter their inbox.
type Group string

// The groups.
const (
	Executions Group = "executions"
	Questions  Group = "approvals" // what waits for an answer
	Schedules  Group = "schedules"
	Models     Group = "models"
	Channels   Group = "channels"
)

// Groups returns all groups in display order.
func Groups() []Group { return []Group{Questions, Executions, Schedules, Models, Channels} }

// Description is an event for people.
type Description struct {
	Event   notify.Event
	Group   Group
	Title   string
	About   string
	Default Mode
}

// Events returns all events in display order.
func Events() []Description {
	inbox, both := Mode{Inbox: true}, Mode{Inbox: true, Email: true}
	return []Description{
		{notify.Approval, Questions, "Approval needed", "A node of an execution that you launched, or of your project, waits for an approval.", both},
		{ModelRequest, Questions, "Model promotion requested", "A user requests to move a model version of your project to another stage.", inbox},
		{notify.FirstFailure, Executions, "First failure", "A workflow that you launched fails after a success, or in its first execution.", inbox},
		{notify.Failed, Executions, "Execution failed", "Every other failure of an execution that you launched.", inbox},
		{notify.Recovered, Executions, "Recovery", "A workflow that you launched succeeds after a failure.", inbox},
		{notify.Succeeded, Executions, "Execution succeeded", "An execution that you launched succeeds after at least 5 minutes.", inbox},
		{notify.Cancelled, Executions, "Execution cancelled", "An execution that you launched is cancelled.", Mode{}},
		{notify.Slow, Executions, "Slower than usual", "An execution takes more than twice the median duration of the last 20 successful ones.", inbox},
		{StartedLate, Executions, "Started after waiting", "The first node of an execution that you launched starts after more than 10 minutes. Time in which you paused it does not count.", inbox},
		{Reclaimed, Executions, "Capacity reclaimed", "A task of your execution is preempted because others need the capacity that it borrowed.", inbox},
		{PoolStalled, Executions, "Pool without workers", "A task of an execution that you launched has waited for 5 minutes for a pool without a connected worker. Sent only once until a worker connects.", both},
		{SweepEnded, Executions, "Sweep ended", "A sweep that you created has ended without being stopped by you.", inbox},
		{ScheduleFailed, Schedules, "Schedule failed", "An execution of your schedule fails.", both},
		{notify.SchedulePaused, Schedules, "Schedule paused", "FlowForge pauses your schedule after failures, because of its stop condition, or because you lost access.", both},
		{notify.ScheduleRefused, Schedules, "Scheduled run rejected", "A run of your schedule could not launch its workflow. Sent only once until a run launches the workflow again.", both},
		{notify.TriggerPaused, Schedules, "Trigger paused", "FlowForge turns off your trigger after failed polls.", both},
		{notify.TriggerFailed, Schedules, "Trigger failed", "Your trigger could not launch its workflow for an event. Sent only once until an event launches the workflow again.", both},
		{notify.StageChanged, Models, "Model stage changed", "Another person moves a model that you registered, or a model of your project, to another stage.", inbox},
		{ChannelFailing, Channels, "Channel failing", "A channel that you can edit refuses a message, or fails five times in a row. Sent only once until the channel accepts a message again.", both},
	}
}

// Describe returns the description of an event, and whether there is such an event.
func Describe(e notify.Event) (Description, bool) {
	all := Events()
	i := slices.IndexFunc(all, func(d Description) bool { return d.Event == e })
	if i < 0 {
		return Description{}, false
	}
	return all[i], true
}

// eventsOf returns the events of a group.
func eventsOf(g Group) []string {
	var list []string
	for _, d := range Events() {
		if d.Group == g {
			list = append(list, string(d.Event))
		}
	}
	return list
}
