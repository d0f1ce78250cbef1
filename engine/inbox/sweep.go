package inbox

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/notify"
	"github.com/flowforge/flowforge/platform/units"
)

// sweepEnded notifies the creator of a sweep that it has ended, unless a person stopped it.
func (s *Service) sweepEnded(ctx context.Context, q *db.Queries, row db.InboxEventsRow, data payload) error {
	id, err := uuid.Parse(data.ObjectID)
	if err != nil {
		return nil //nolint:nilerr // it names no sweep
	}
	sweep, err := q.InboxSweep(ctx, id)
	if db.IsNoRows(err) || err == nil && sweep.Reason == sweepStoppedByPerson {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find sweep %s: %w", id, err)
	}
	o := occurrence{
		key: "sweep/" + row.ID, project: *row.ProjectID, tenant: *row.TenantID, subject: sweep.WorkflowName, at: row.At,
		events: []notify.Event{SweepEnded}, compose: func(notify.Event) message.Message { return s.sweepMessage(id, sweep) },
	}
	return s.emit(ctx, q, o, sweep.CreatedBy)
}

// sweepStoppedByPerson is the reason of a sweep that a person stopped (sweep.ReasonPerson).
const sweepStoppedByPerson = "PERSON"

func (s *Service) sweepMessage(id uuid.UUID, row db.InboxSweepRow) message.Message {
	m := message.Message{
		Level: message.OK, Title: row.Name + " has ended", URL: s.config.PublicURL + "/sweeps/" + id.String(), Incident: "sweep/" + id.String(),
		Text:  strings.TrimSpace(fmt.Sprintf("%s of %s succeeded. %s", units.Number(int64(row.Succeeded)), units.Plural(int64(row.Runs), "run", "runs"), row.Message)),
		Facts: []message.Fact{{Name: "Workflow", Value: row.WorkflowName + " " + row.Version}},
	}
	if row.Best != "" {
		m.Facts = append(m.Facts, message.Fact{Name: "Best " + row.Objective, Value: row.Best})
	}
	if row.Succeeded < row.Runs {
		m.Level = message.Warning
	}
	return m
}
