package notify_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/notify"
)

// waits inserts an execution that is launched now and whose only node waits.
func (b *bundle) waits(status string) uuid.UUID {
	b.t.Helper()
	id := uuid.Must(uuid.NewV7())
	b.exec(`INSERT INTO executions (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, status, priority, inputs,
			submitted_by, submitted_by_name, created_at, total, pending, ready, levels)
		VALUES ($1, $2, $3, $4, $4, 'digits.train', '1.0.0', $5, 50, '{}', $4, 'ada', $6, 1, 0, 1, 1)`,
		id, auth.LocalTenant, auth.LocalProject, uuid.New(), status, b.clock.now())
	return id
}

// TestAPauseIsNoWait: the time of an execution that a user paused counts from when it was continued.
func TestAPauseIsNoWait(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.rule(notify.Rule{Name: "waits", Events: []notify.Event{notify.Waiting}, Channels: []string{"portal"}, Waiting: 10 * time.Minute})
	id := b.waits("PAUSED")
	continued := func(after time.Duration) {
		b.clock.add(after)
		b.exec("UPDATE executions SET status = 'RUNNING', event_seq = event_seq + 1 WHERE id = $1", id)
		b.exec("INSERT INTO events (execution_id, seq, at, kind) SELECT id, event_seq, $2, 'execution.unpaused' FROM executions WHERE id = $1", id, b.clock.now())
	}
	continued(time.Hour)
	require.Zero(t, b.watched(), "it has waited for no time yet")
	b.clock.add(11 * time.Minute)
	require.Equal(t, 1, b.watched())
	require.Equal(t, "digits.train has waited for 11 min", b.messages()[0].Message.Title)
	continued(9 * 24 * time.Hour)
	b.clock.add(11 * time.Minute)
	require.Equal(t, 2, b.watched(), "it waits again")
	require.Equal(t, 2, b.watched())
}

// TestARuleFindsWhatAlreadyWaits: an execution that waits when a user creates or turns on the rule is no past event.
func TestARuleFindsWhatAlreadyWaits(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.waits("RUNNING")
	b.clock.add(time.Hour)
	b.waits("RUNNING")
	b.clock.add(8 * time.Minute)
	rule := b.rule(notify.Rule{Name: "waits", Events: []notify.Event{notify.Waiting}, Channels: []string{"portal"}, Waiting: 10 * time.Minute})
	require.Equal(t, 1, b.watched())
	require.Equal(t, "digits.train has waited for 1 h 08 min", b.messages()[0].Message.Title)
	b.clock.add(3 * time.Minute)
	require.Equal(t, 2, b.watched())
	for _, on := range []bool{false, true} {
		b.clock.add(time.Minute)
		rule.Enabled = on
		_, err := b.service.Put(b.admin, "waits", rule)
		require.NoError(t, err)
	}
	require.Equal(t, 2, b.watched(), "one message for each wait")
}
