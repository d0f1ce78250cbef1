package tasks

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// endless always has another entry.
type endless struct{}

func (endless) Receive() bool              { return true }
func (endless) Msg() *flowforgev1.LogEntry { return new(flowforgev1.LogEntry) }
func (endless) Err() error                 { return nil }

// TestAStreamWithoutAReaderEnds: the caller waits for the error of a stream whose entries ended.
func TestAStreamWithoutAReaderEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	entries, end := receive(ctx, endless{})
	<-entries
	cancel()
	select {
	case err := <-end:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(10 * time.Second):
		t.Fatal("the error never arrives")
	}
}

// TestTheEndOfAStreamStoresWhatItReceived: the server stops before a group is complete.
func TestTheEndOfAStreamStoresWhatItReceived(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	entries := make(chan *flowforgev1.LogEntry)
	go func() {
		entries <- &flowforgev1.LogEntry{Message: "last"}
		cancel()
	}()
	var stored []string
	n, err := inGroups(ctx, entries, func(ctx context.Context, group []*flowforgev1.LogEntry) error {
		for _, entry := range group {
			stored = append(stored, entry.GetMessage())
		}
		return ctx.Err()
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, n)
	require.Equal(t, []string{"last"}, stored)
}
