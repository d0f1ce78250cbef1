package notify

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
)

// sampleOf is an invented message about an event, for the preview in a project that has none.
func (s *Service) sampleOf(event Event) message.Message {
	now := s.now()
	id := uuid.MustParse("019a9b1e-7c1e-7a51-9d0b-6d0f6a1f3c55")
	const workflow, person = "vision.train", "Sam Example"
	var m message.Message
	switch event {
	case Waiting:
		m = s.waitingMessage(db.WaitingExecutionsRow{ID: id, WorkflowName: workflow, Version: "1.4.0", SubmittedByName: person, CreatedAt: now.Add(-12 * time.Minute)}, now)
	case Overdue:
		start := now.Add(-4 * time.Hour)
		m = s.overdueMessage(db.OverdueExecutionsRow{
			ID: id, WorkflowName: workflow, Version: "1.4.0", Name: "nightly, " + start.Format("2006-01-02 15:04"), SubmittedByName: person, CreatedAt: start, Status: "RUNNING", Total: 5, Ended: 3,
		}, now, "UTC")
	case Approval:
		m = s.approvalMessage(db.PendingApprovalsRow{ExecutionID: id, WorkflowName: workflow, SubmittedByName: person, NodeIndex: 3, Name: "release", Question: "Release the model to production?"})
	case SchedulePaused:
		m = s.pausedMessage(db.PausedSchedulesRow{ID: id, Name: "nightly", WorkflowName: workflow, Message: "Paused after 5 failed runs in a row."})
	case TriggerPaused:
		m = s.triggerMessage(db.PausedTriggersRow{ID: id, Name: "new-images", WorkflowName: workflow, Paused: "Turned off after 12 failed polls in a row."})
	case ScheduleRefused:
		m = s.refusedMessage(db.FailureStreaksRow{ObjectID: id.String(), ObjectName: "nightly", Workflow: workflow, Run: "2026-11-24 02:00 CET", Message: "The inputs have invalid values. epochs: Enter at most 100."})
	case TriggerFailed:
		m = s.failedMessage(db.FailureStreaksRow{ObjectID: id.String(), ObjectName: "new-images", Workflow: workflow, Run: "images.label succeeded", Message: "The inputs have invalid values. epochs: Enter at most 100."})
	case StageChanged:
		m = StageChange{Model: "defects", Version: "7", Stage: "production", By: person, Reason: "Best recall so far."}.Message(s.config.PublicURL)
		m.Data["detail"] = "staging to production"
	case Failed, FirstFailure, Recovered, Slow, Succeeded, Cancelled, AnyEvent:
		m = s.sampleEnd(event, id, workflow, person, now)
	}
	if event == AnyEvent {
		event = Failed
	}
	m.ID, m.Event, m.At = id.String(), string(event), now
	return m
}

func (s *Service) sampleEnd(event Event, id uuid.UUID, workflow, person string, now time.Time) message.Message {
	started := now.Add(-41 * time.Minute)
	row := db.ExecutionForNotificationRow{
		ID: id, WorkflowName: workflow, Version: "1.4.0", Status: "SUCCEEDED", SubmittedByName: person, CreatedAt: started.Add(-20 * time.Second), StartedAt: &started, FinishedAt: &now,
		History: 20, UsualSeconds: 1100, Project: "vision", Name: "nightly, " + started.Format("2006-01-02 15:04"), Schedule: "nightly",
	}
	switch event { //nolint:exhaustive // the others succeed
	case Failed, FirstFailure, AnyEvent:
		row.Node = "train"
		row.Status, row.StatusBefore, row.Error = "FAILED", "SUCCEEDED", json.RawMessage(`{"message": "train failed: CUDA out of memory (tried to allocate 2.0 GiB)"}`)
	case Cancelled:
		row.Status = "CANCELLED"
	}
	if event == AnyEvent {
		event = Failed
	}
	return (&End{row, s}).Message(event)
}
