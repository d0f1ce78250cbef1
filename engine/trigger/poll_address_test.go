package trigger_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/trigger"
)

// TestAConnectionToAnotherAddress: the response of another address is no change of the former one.
func TestAConnectionToAnotherAddress(t *testing.T) {
	t.Parallel()
	for _, when := range []trigger.When{trigger.Changes, trigger.Appears} {
		t.Run(string(when), func(t *testing.T) {
			t.Parallel()
			b, old, moved := setup(t), serve(t), serve(t)
			leads := func(to *site, create bool) {
				t.Helper()
				_, err := b.connections.Put(b.ctx, connection.Edit{Name: "portal", Kind: "http", Create: create, Values: map[string]any{"base_url": to.URL, "authentication": "none"}})
				require.NoError(t, err, "%v", apperr.FieldsOf(err))
			}
			is := func(s *site, status int, version string) {
				s.answers(status, `{"version": "`+version+`"}`, "ETag", `"`+version+`"`, "Content-Type", "application/json")
			}
			leads(old, true)
			sp := onHTTP("page", "")
			sp.HTTP.Connection, sp.HTTP.When = "portal", when
			b.put(sp)
			is(old, map[trigger.When]int{trigger.Changes: http.StatusOK, trigger.Appears: http.StatusNotFound}[when], "1")
			is(moved, http.StatusOK, "2")
			b.poll(b.triggers)
			leads(moved, false)
			b.poll(b.triggers)
			require.Empty(t, b.deliveries("page"), "what exists there already is no event")
			require.Empty(t, moved.requests[0].Header.Get("If-None-Match"), "the ETag belongs to the former address")
			if when == trigger.Appears {
				is(moved, http.StatusNotFound, "")
				b.poll(b.triggers)
			}
			is(moved, http.StatusOK, "3")
			b.poll(b.triggers)
			require.Len(t, b.deliveries("page"), 1)
			leads(moved, false)
			b.poll(b.triggers)
			require.Len(t, b.deliveries("page"), 1, "the connection leads to the same address")
		})
	}
}
