package sharing_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/platform/sharing"
)

func TestReadersShareAResult(t *testing.T) {
	t.Parallel()
	now := time.Now()
	shared := sharing.New[string, int](time.Second, func() time.Time { return now })
	var loads atomic.Int32
	finish := make(chan struct{})
	load := func(context.Context) (int, error) {
		<-finish
		return int(loads.Add(1)), nil
	}
	var readers sync.WaitGroup
	for range 20 {
		readers.Go(func() {
			v, err := shared.Get(t.Context(), "a", load)
			if !assert.NoError(t, err) { //nolint:testifylint // require must not end another goroutine
				return
			}
			assert.Equal(t, 1, v)
		})
	}
	close(finish)
	readers.Wait()
	other, err := shared.Get(t.Context(), "b", load)
	require.NoError(t, err)
	assert.Equal(t, 2, other, "another key has its own result")
	now = now.Add(1001 * time.Millisecond)
	later, err := shared.Get(t.Context(), "a", load)
	require.NoError(t, err)
	assert.Equal(t, 3, later, "an old result is read again")
}

func TestALoadThatPanicsIsAnError(t *testing.T) {
	t.Parallel()
	shared := sharing.New[string, int](time.Hour, time.Now)
	_, err := shared.Get(t.Context(), "a", func(ctx context.Context) (int, error) {
		_, limited := ctx.Deadline()
		assert.True(t, limited, "a load that hangs ends")
		panic("broken")
	})
	require.ErrorContains(t, err, "broken")
	v, err := shared.Get(t.Context(), "a", func(context.Context) (int, error) { return 7, nil })
	require.NoError(t, err)
	assert.Equal(t, 7, v)
}

func TestErrorsAndTheFirstReaderDoNotHoldOthersUp(t *testing.T) {
	t.Parallel()
	shared := sharing.New[string, int](time.Hour, time.Now)
	_, err := shared.Get(t.Context(), "a", func(context.Context) (int, error) { return 0, errors.New("unreachable") })
	require.ErrorContains(t, err, "unreachable")

	leaving, leave := context.WithCancel(t.Context())
	started, finish := make(chan struct{}), make(chan struct{})
	go func() {
		<-started
		leave()
	}()
	_, err = shared.Get(leaving, "a", func(ctx context.Context) (int, error) {
		close(started)
		<-finish
		return 7, ctx.Err()
	})
	require.ErrorIs(t, err, context.Canceled)
	close(finish)
	v, err := shared.Get(t.Context(), "a", func(context.Context) (int, error) { return 0, errors.New("a second load") })
	require.NoError(t, err)
	assert.Equal(t, 7, v, "the load continues for the next reader")
}
