package execution_test

import (
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/enginetest"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// TestADrainDoesNotWaitForDrivesThatLoad: thousands of drives may wait for connections. Those that have
// not loaded their execution end without one.
func TestADrainDoesNotWaitForDrivesThatLoad(t *testing.T) {
	t.Parallel()
	e := enginetest.New(t)
	e.Register(`{name: waits, version: 1.0.0, operators: [{name: wait, type: approval}]}`)
	launched, _, err := e.Service.Launches.Launch(e.Ctx, execution.LaunchRequest{Workflow: "waits", Priority: query.Normal})
	require.NoError(t, err)
	require.NoError(t, e.Service.Driver.TakeOver(e.Ctx, 0))
	var connections []*pgxpool.Conn
	for range e.Pool.Config().MaxConns {
		c, err := e.Pool.Acquire(e.Ctx)
		require.NoError(t, err)
		connections = append(connections, c)
	}
	failures := make(chan error, 100)
	var drives sync.WaitGroup
	for range cap(failures) {
		drives.Go(func() { failures <- e.Service.Driver.Drive(e.Ctx, launched.ID) })
	}
	e.Service.Driver.Drain()
	drives.Wait()
	for range cap(failures) {
		require.NoError(t, <-failures)
	}
	for _, c := range connections {
		c.Release()
	}
}
