package app

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/outgoing"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/backfill"
	"github.com/flowforge/flowforge/engine/enginetest"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/notify"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/trigger"
	"github.com/flowforge/flowforge/platform/observability"
)

// TestThePartsOfAnEndAreIndependent: one part that fails keeps none of the others from happening, and when
// the job repeats all of them, those happen once.
func TestThePartsOfAnEndAreIndependent(t *testing.T) {
	t.Parallel()
	// Each column is read by one part alone.
	for failing, column := range map[string]string{"facts": "", "notification_rules": "events", "triggers": "kind"} {
		t.Run(failing, func(t *testing.T) {
			t.Parallel()
			e := enginetest.New(t)
			e.Register(`{name: quick, version: 1.0.0, operators: [{name: one, type: noop}]}`, `{name: next, version: 1.0.0, operators: [{name: one, type: noop}]}`)
			e.Run()
			p := partsOfAnEnd(t, e)
			launched, _, err := e.Service.Launches.Launch(e.Ctx, execution.LaunchRequest{Workflow: "quick", Priority: query.Normal})
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				now, err := e.Service.Get(e.Ctx, launched.ID)
				return err == nil && now.FinishedAt != nil
			}, 30*time.Second, 5*time.Millisecond)

			healthy := p.telemetry
			if failing == "facts" {
				p.telemetry = openTelemetry(t, e)
				require.NoError(t, p.telemetry.Close())
			} else {
				alter(t, e, "ALTER TABLE "+failing+" RENAME COLUMN "+column+" TO away")
			}
			m := &monitoring{log: e.Log, metrics: observability.NewMetrics("test", 10)}
			finished := m.onFinished(p)
			require.Error(t, finished(e.Ctx, launched.ID))
			require.Equal(t, failing != "facts", healthy.Status().PendingRecords == 1)
			require.Equal(t, map[bool]int{true: 1}[failing != "notification_rules"], countRows(t, e, "SELECT count(*) FROM notifications"))
			require.Equal(t, map[bool]int{true: 1}[failing != "triggers"], countRows(t, e, "SELECT count(*) FROM trigger_deliveries WHERE outcome = 'LAUNCHED'"))

			if failing != "facts" {
				alter(t, e, "ALTER TABLE "+failing+" RENAME COLUMN away TO "+column)
			}
			p.telemetry = healthy
			for range 2 {
				require.NoError(t, finished(e.Ctx, launched.ID))
			}
			require.Positive(t, healthy.Status().PendingRecords)
			require.Equal(t, 1, countRows(t, e, "SELECT count(*) FROM notifications"))
			require.Equal(t, 1, countRows(t, e, "SELECT count(*) FROM trigger_deliveries"))
			require.Equal(t, 1, countRows(t, e, "SELECT count(*) FROM executions WHERE workflow_name = 'next'"))
		})
	}
}

// partsOfAnEnd returns services with a rule and a trigger for the end of quick.
func partsOfAnEnd(t *testing.T, e *enginetest.Engine) *parts {
	t.Helper()
	keys, err := secret.NewKeyring(bytes.Repeat([]byte("k"), 32))
	require.NoError(t, err)
	links := connection.NewService(connection.Config{Pool: e.Pool, Keys: keys, Now: time.Now})
	_, err = links.Put(e.Ctx, connection.Edit{Name: "portal", Kind: "webhook", Values: map[string]any{"url": "https://portal.example/hook", "signing_secret": "a signing secret of the tests"}})
	require.NoError(t, err, "%v", apperr.FieldsOf(err))
	p := &parts{
		pool: e.Pool, executions: e.Service, telemetry: openTelemetry(t, e),
		notifications: notify.New(notify.Config{Pool: e.Pool, Channels: links, Dialer: outgoing.Dialer{}, PublicURL: "https://flowforge.example", Logger: e.Log, Now: time.Now}),
		triggers:      trigger.New(trigger.Config{Pool: e.Pool, Workflows: e.Workflows, Executions: e.Service.Launches, Connections: links, Logger: e.Log, Now: time.Now, Acting: e.Acting}),
		sweeps:        sweep.New(sweep.Config{Pool: e.Pool}), schedules: schedule.New(schedule.Config{Pool: e.Pool}), backfills: backfill.New(backfill.Config{Pool: e.Pool}),
	}
	t.Cleanup(func() { require.NoError(t, p.telemetry.Close()) })
	_, err = p.notifications.Put(e.Ctx, "", notify.Rule{Name: "ends", Events: []notify.Event{notify.Succeeded}, Channels: []string{"portal"}, Enabled: true})
	require.NoError(t, err, "%v", apperr.FieldsOf(err))
	_, err = p.triggers.Put(e.Ctx, "", trigger.Spec{Name: "after", Kind: trigger.OnExecution, Sources: []string{"quick"}, Workflow: "next", Enabled: true})
	require.NoError(t, err, "%v", apperr.FieldsOf(err))
	return p
}

func openTelemetry(t *testing.T, e *enginetest.Engine) *telemetry.Service {
	t.Helper()
	s, err := telemetry.New(telemetry.Config{SpoolDir: t.TempDir(), Log: e.Log, Now: time.Now})
	require.NoError(t, err)
	return s
}

func alter(t *testing.T, e *enginetest.Engine, sql string) {
	t.Helper()
	_, err := e.Pool.Exec(context.Background(), sql)
	require.NoError(t, err)
}

func countRows(t *testing.T, e *enginetest.Engine, sql string) (n int) {
	t.Helper()
	require.NoError(t, e.Pool.QueryRow(context.Background(), sql).Scan(&n))
	return n
}
