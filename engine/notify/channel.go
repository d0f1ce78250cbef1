package notify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
)

// Channel is a connection that receives messages, and how its last deliveries went.
type Channel struct {
	Name        string
	Kind        string
	Description string
	OpenUntil   *time.Time // no message is sent before; nil: the channel works or was not used
	OKAt        *time.Time // the last accepted message
	FailedAt    *time.Time
	Error       string // of the last failure; "" after a success
	Failures    int    // in a row
}

// The circuit breaker of channels: after some failures in a row, FlowForge sends nothing to a
// channel for some time.
const (
	opensAfter = 5
	opensFor   = 5 * time.Minute
)

// Channels returns the channels of the current project by name.
func (s *Service) Channels(ctx context.Context) ([]Channel, error) {
	subject, err := reader(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.queries.ListChannels(ctx, subject.ProjectID, message.Kinds())
	if err != nil {
		return nil, fmt.Errorf("list channels: %w", err)
	}
	now := s.now()
	list := make([]Channel, len(rows))
	for i, row := range rows {
		list[i] = Channel{Name: row.Name, Kind: row.Kind, Description: row.Description, OKAt: row.OkAt, FailedAt: row.FailedAt}
		if row.Failures != nil {
			list[i].Failures = int(*row.Failures)
		}
		if row.Error != nil {
			list[i].Error = *row.Error
		}
		if row.OpenUntil != nil && row.OpenUntil.After(now) {
			list[i].OpenUntil = row.OpenUntil
		}
	}
	return list, nil
}

// Failing counts the channels of the current project that did not accept their last message.
func (s *Service) Failing(ctx context.Context) (int, error) {
	subject, err := reader(ctx)
	if err != nil {
		return 0, err
	}
	n, err := s.queries.CountFailingChannels(ctx, subject.ProjectID)
	if err != nil {
		return 0, fmt.Errorf("count failing channels: %w", err)
	}
	return int(n), nil
}

// isChannel reports whether a project has a connection that receives messages.
func isChannel(ctx context.Context, q *db.Queries, project uuid.UUID, name string) (bool, error) {
	row, err := q.GetConnection(ctx, project, name)
	if db.IsNoRows(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get connection %s: %w", name, err)
	}
	return slices.Contains(message.Kinds(), row.Kind), nil
}
