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
