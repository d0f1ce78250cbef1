package handlers_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/backfill"
)

// backfillRows are about a backfill of another person, which no process launches.
func backfillRows() []row {
	const ok, absent, invalid = http.StatusOK, http.StatusNotFound, http.StatusUnprocessableEntity
	const one = "/backfills/{backfill_id}"
	const range2018, none = `"from": "2018-01-01T00:00:00Z", "until": "2018-01-02T00:00:00Z"`, `"from": "2018-01-01T00:00:00Z", "until": "2018-01-01T00:00:00Z"`
	return []row{
		read("/backfills", "/backfills", auth.ExecutionRead), read(one, "/backfills/{backfill}", auth.ExecutionRead).object(),
		read(one+"/slots", "/backfills/{backfill}/slots", auth.ExecutionRead).object(),
		write("POST", "/backfills", "/backfills", `{"schedule": "{schedule}", `+none+`}`, auth.ExecutionLaunch, invalid).object(),
		write("POST", "/backfills/preview", "/backfills/preview", `{"schedule": "{schedule}", `+range2018+`}`, auth.ExecutionLaunch, ok).object(),
		write("POST", one+"/pause", "/backfills/{backfill}/pause", "", auth.ExecutionCancelAny, ok).object(),
		write("POST", one+"/resume", "/backfills/{backfill}/resume", "", auth.ExecutionCancelAny, ok).object(),
		write("POST", one+"/cancel", "/backfills/01900000-0000-7000-8000-00000000dead/cancel", `{}`, "", absent),
	}
}

// backfillPageRows are about the pages of a backfill of another person.
func backfillPageRows() []row {
	const moved, absent, invalid = http.StatusSeeOther, http.StatusNotFound, http.StatusUnprocessableEntity
	return []row{
		page("/backfills", "/backfills", auth.ExecutionRead), page("/backfills/new", "/backfills/new?schedule={schedule}", auth.ExecutionRead).object(),
		page("/backfills/{backfill}", "/backfills/{backfill}", auth.ExecutionRead).object(),
		page("/backfills/{backfill}/stream", "/backfills/{backfill}/stream", auth.ExecutionRead).object(),
		form("/backfills", "/backfills", "schedule={schedule}&from=2018-01-02&until=2018-01-01", auth.ExecutionLaunch, invalid).object(),
		form("/backfills/{backfill}/pause", "/backfills/{backfill}/pause", "", auth.ExecutionCancelAny, moved).object(),
		form("/backfills/{backfill}/resume", "/backfills/{backfill}/resume", "", auth.ExecutionCancelAny, moved).object(),
		form("/backfills/{backfill}/cancel", "/backfills/01900000-0000-7000-8000-00000000dead/cancel", "", "", absent),
	}
}

// matrixBackfill creates a backfill of one time of a schedule.
func matrixBackfill(ctx context.Context, t *testing.T, b *testBundle, of string) string {
	t.Helper()
	from := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	f, err := b.deps.Backfills.Create(ctx, backfill.Spec{Schedule: uuid.MustParse(of), From: from, Until: from.AddDate(0, 0, 1), Priority: -1})
	require.NoError(t, err, "%v", apperr.FieldsOf(err))
	return f.ID.String()
}
