package execution

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

const (
	// rendezvousLimit limits how long Rendezvous waits for a change.
	rendezvousLimit = 25 * time.Second
	// firstGangPause and longestGangPause bound the pauses between two reads of a gang.
	firstGangPause   = 50 * time.Millisecond
	longestGangPause = time.Second
	// gangAge is how long the rows of gangs are kept.
	gangAge = 60 * 24 * time.Hour
	maxGang = 1024
)

// Member is the status of one rank of a gang. State is as in TaskService.
type Member struct {
	Rank     int
	Address  string // of the rank's pod
	State    int
	Message  string // a sentence for users when it has failed
	ExitCode int
	Class    string
}

// gangReady is the state of a rank that has not ended.
const gangReady = 1

// Rendezvous records the status of a rank of the calling task's gang and returns the status
// of all ranks, in their order: immediately when it differs from seen, otherwise when it
// changes or wait is over. The returned number identifies the returned status. It returns
// Unauthenticated when the attempt has ended.
func (s *TaskService) Rendezvous(ctx context.Context, m Member, seen int64, wait time.Duration) ([]Member, int64, error) {
	scope, err := scopeOf(ctx)
	if err != nil {
		return nil, 0, err
	}
	if m.Rank < 0 || m.Rank >= maxGang || m.State < gangReady || m.State > gangReady+2 {
		return nil, 0, apperr.New(apperr.Invalid, "The state of a rank must be ready, succeeded or failed.")
	}
	if err := s.join(ctx, scope, m); err != nil {
		return nil, 0, err
	}
	deadline := time.NewTimer(min(wait, rendezvousLimit))
	defer deadline.Stop()
	for pause := firstGangPause; ; pause = min(2*pause, longestGangPause) {
		if err := s.supervisor.Alive(ctx); err != nil {
			return nil, 0, err
		}
		members, version, err := s.members(ctx, scope)
		if err != nil || version != seen || wait <= 0 {
			return members, version, err
		}
		select {
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		case <-deadline.C:
			return members, version, nil
		case <-time.After(pause):
		}
	}
}

// join writes the status of a rank. The first rank also deletes the rows of old gangs.
func (s *TaskService) join(ctx context.Context, scope auth.TaskScope, m Member) error {
	if err := s.supervisor.Alive(ctx); err != nil {
		return err
	}
	now := s.now()
	err := s.queries.RegisterGangMember(ctx, db.RegisterGangMemberParams{
		ExecutionID: scope.ExecutionID, NodeIndex: int32(scope.NodeIndex), Attempt: int32(scope.Attempt), //nolint:gosec // signed by us
		Rank: int32(m.Rank), State: int16(m.State), ExitCode: int32(m.ExitCode), //nolint:gosec // small
		Address: clean(m.Address, maxNameLength), Message: clean(m.Message, maxMessage), Class: clean(m.Class, maxNameLength),
		ChangedAt: now,
	})
	if err != nil {
		return fmt.Errorf("write the status of a rank: %w", err)
	}
	if m.Rank == 0 && m.State != gangReady {
		if _, err := s.queries.ForgetGangs(ctx, now.Add(-gangAge)); err != nil {
			return fmt.Errorf("delete old gangs: %w", err)
		}
	}
	return nil
}

// members returns the gang and a number that changes with every change of it.
func (s *TaskService) members(ctx context.Context, scope auth.TaskScope) ([]Member, int64, error) {
	rows, err := s.queries.GangMembers(ctx, scope.ExecutionID, int32(scope.NodeIndex), int32(scope.Attempt)) //nolint:gosec // signed by us
	if err != nil {
		return nil, 0, fmt.Errorf("read the gang: %w", err)
	}
	members := make([]Member, len(rows))
	for i, r := range rows {
		members[i] = Member{
			Rank: int(r.Rank), Address: r.Address, State: int(r.State),
			Message: r.Message, ExitCode: int(r.ExitCode), Class: r.Class,
		}
	}
	text, err := json.Marshal(members)
	if err != nil {
		return nil, 0, fmt.Errorf("number the gang: %w", err)
	}
	hash := fnv.New64a()
	_, _ = hash.Write(text)
	return members, int64(hash.Sum64() >> 1), nil
}
