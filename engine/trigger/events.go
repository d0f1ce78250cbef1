package trigger

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/feed"
)

const (
	// passInterval is the minimum time between two passes without a wake-up, and the time after a failure.
	passInterval = 2 * time.Second
	// feedChunk is how many positions of the feed one step reads.
	feedChunk = 500
)

// Wake makes Run check the feed now.
func (s *Service) Wake() { signal(s.wake) }

// Run passes the events of the feed to triggers, retries failed launches, and polls, until ctx
// ends. The leader calls it. A second loop launches nothing twice, because each launch records
// its delivery.
func (s *Service) Run(ctx context.Context) {
	ctx = auth.AsSystem(ctx)
	var all sync.WaitGroup
	all.Go(func() { s.runFeed(ctx) })
	all.Go(func() { s.runRetries(ctx) })
	all.Go(func() { polling{s}.runPolls(ctx) })
	all.Wait()
}

func (s *Service) runFeed(ctx context.Context) {
	var pruned time.Time
	for ctx.Err() == nil {
		turn := s.config.Watch.Turn()
		more, err := s.ReceiveEvents(ctx)
		if err == nil && !more {
			_, err = s.ExpireJoins(ctx)
		}
		if err == nil && time.Since(pruned) > time.Hour {
			pruned, err = time.Now(), joining{s}.pruneJoins(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.config.Logger.Warn("events could not be passed to triggers; the next attempt retries them", "error", err)
		}
		if !more || err != nil {
			turn.Rest(ctx, s.wake, passInterval, until(ctx, s.now(), err, passInterval, s.queries.NextJoinExpiry))
		}
	}
}

// until is how long a loop waits at most: until the time that next reads, which has no row if there is
// none, but at least least. After a failure it is passInterval.
func until(ctx context.Context, now time.Time, failed error, least time.Duration, next func(context.Context) (time.Time, error)) time.Duration {
	if failed != nil {
		return passInterval
	}
	due, err := next(ctx)
	if db.IsNoRows(err) {
		return db.Safety
	}
	if err != nil {
		return passInterval
	}
	return db.RestUntil(&due, now, least)
}

// ReceiveEvents passes the next events of the feed to the triggers that wait for them, and
// reports whether there are more. It stores its progress after all triggers have decided. If it
// stops before that, events are repeated, and the keys of their deliveries prevent a second
// launch. Only one caller may use it at a time.
func (s *Service) ReceiveEvents(ctx context.Context) (more bool, err error) {
	if _, err := auth.Authorize(ctx, auth.Administer); err != nil {
		return false, err
	}
	at, err := s.queries.TriggerFeed(ctx)
	if err != nil {
		return false, fmt.Errorf("position in the feed: %w", err)
	}
	if at.Position >= at.Newest {
		return false, nil
	}
	until := min(at.Newest, at.Position+feedChunk)
	rows, err := s.queries.TriggersOfEvents(ctx, at.Position, until)
	if err != nil {
		return false, fmt.Errorf("find triggers of events: %w", err)
	}
	if err := receiveAll(ctx, s, rows); err != nil {
		return false, err
	}
	s.config.Crash("feed.received")
	if err := s.queries.MoveTriggerFeed(ctx, until); err != nil {
		return false, fmt.Errorf("store the position in the feed: %w", err)
	}
	return until < at.Newest, nil
}

// receiveAll passes events to triggers. Only one event is in memory at a time. Events and triggers
// that were removed in the meantime are left out.
func receiveAll(ctx context.Context, s *Service, rows []db.TriggersOfEventsRow) error {
	triggers := map[uuid.UUID]*db.Trigger{}
	var e db.EventFeed
	for _, row := range rows {
		if e.Position != row.Position {
			found, err := s.queries.FeedEvent(ctx, row.Position)
			if db.IsNoRows(err) {
				continue
			}
			if err != nil {
				return fmt.Errorf("event %d of the feed: %w", row.Position, err)
			}
			e = found
		}
		t, known := triggers[row.TriggerID]
		if !known {
			found, err := s.queries.GetTrigger(ctx, row.TriggerID)
			if err != nil && !db.IsNoRows(err) {
				return fmt.Errorf("trigger %s: %w", row.TriggerID, err)
			}
			if err == nil && found.Enabled {
				t = &found
			}
			triggers[row.TriggerID] = t
		}
		if t == nil {
			continue
		}
		if err := s.receive(ctx, *t, e); err != nil {
			return err
		}
	}
	return nil
}

// receive passes an event to a trigger that waits for its type.
func (s *Service) receive(ctx context.Context, row db.Trigger, e db.EventFeed) error {
	ev := event{key: "event/" + e.ID, subject: e.Type + " " + e.Subject, source: e.ExecutionID, depth: 1}
	if e.ExecutionID != nil {
		origin, err := s.queries.TriggerOfExecution(ctx, *e.ExecutionID)
		if err != nil && !db.IsNoRows(err) {
			return fmt.Errorf("trigger of execution %s: %w", *e.ExecutionID, err)
		}
		if err == nil {
			ev.depth, ev.own = int(origin.Depth)+1, origin.TriggerID == row.ID
		}
	}
	if Kind(row.Kind) == OnAll {
		return joining{s}.receiveForJoin(ctx, row, e, ev)
	}
	var err error
	if ev.env, err = feedEnv(Kind(row.Kind), e); err != nil || !matches(Kind(row.Kind), row.Sources, ev.env) {
		return err
	}
	return s.deliverOrDefer(ctx, row, ev)
}

// matches reports whether sources name the object of an event of their type.
func matches(kind Kind, sources []string, env map[string]any) bool {
	if kind == OnEvent {
		return true
	}
	object, _ := env[names(kind)[0]].(map[string]any)
	name, _ := object["name"].(string)
	if kind != OnArtifact {
		return covers(sources, name)
	}
	producer, _ := object["workflow"].(string)
	return slices.ContainsFunc(sources, func(source string) bool {
		of, artifact, both := strings.Cut(source, "/")
		if !both {
			of, artifact = "*", source
		}
		return covers([]string{of}, producer) && covers([]string{artifact}, name)
	})
}

// feedEnv returns the values of an event of the feed that expressions can read.
func feedEnv(kind Kind, e db.EventFeed) (map[string]any, error) {
	data := map[string]any{}
	if err := decode(e.Data, &data); err != nil {
		return nil, fmt.Errorf("event %s: %w", e.ID, err)
	}
	if kind != OnEvent {
		if e.ExecutionID != nil {
			data["execution_id"] = e.ExecutionID.String()
		}
		return map[string]any{names(kind)[0]: data}, nil
	}
	return map[string]any{"event": map[string]any{
		"id": e.ID, "topic": e.Topic, "type": e.Type, "time": e.At.UTC().Format(time.RFC3339Nano), "subject": e.Subject,
		"execution_id": textOf(e.ExecutionID), "data": data,
	}}, nil
}

func textOf(id *uuid.UUID) any {
	if id == nil {
		return nil
	}
	return id.String()
}

// eventProblems returns the invalid fields for the events that a trigger or a condition waits
// for.
func eventProblems(kind Kind, sources, stages []string, refuse refuser) {
	what := map[Kind]string{OnArtifact: "artifact", OnDataset: "dataset", OnModel: "model", OnEvent: "type of events"}[kind]
	refuse(len(sources) == 0, "sources", "Enter at least one %s, or a pattern with *.", what)
	refuse(len(sources) > maxList, "sources", "Enter at most %d names.", maxList)
	for _, source := range sources {
		if kind == OnEvent {
			refuse(!feed.IsType(source), "sources", "%q is not a type of events or a pattern such as execution.*", source)
			refuse(strings.HasPrefix(source, "audit."), "sources", "Triggers do not receive events of the audit log, because everyone in the project can read deliveries.")
			continue
		}
		_, err := path.Match(source, "")
		refuse(err != nil || len(source) > 200, "sources", "%q is not a name or a pattern with *", source)
	}
	for _, stage := range stages {
		refuse(!slices.Contains(ModelStages(), stage), "stages", "%q is not a stage. The stages are %s.", stage, strings.Join(ModelStages(), ", "))
	}
}
