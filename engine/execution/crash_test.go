package execution_test

import (
	"os"
	"time"

	"github.com/stretchr/testify/require"
)

// crashAt runs a server until it crashes at point, and then one without a crash. The content
// of a flush depends on the machine: when everything has ended before the last visit, the
// server is killed then, provided that it reached the point at all.
func (b *killBundle) crashAt(point string, env ...string) {
	b.t.Helper()
	require.True(b.t, b.tryCrashAt(point, env...), "the server never reached %s", point)
}

// tryCrashAt is crashAt, and reports whether the server reached the point.
func (b *killBundle) tryCrashAt(point string, env ...string) bool {
	b.t.Helper()
	env = append(env, envLaunch+"=kill:1")
	cmd := b.child(append(env, envCrash+"="+point)...)
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	reached := b.crashes(done)
	if reached {
		require.Equal(b.t, crashCode, cmd.ProcessState.ExitCode(), "the server did not crash on purpose")
	} else {
		_ = cmd.Process.Kill()
		<-done
		_, err := os.Stat(b.dir + visitedFile)
		reached = err == nil
	}
	second := b.child(env...)
	b.t.Cleanup(func() {
		_ = second.Process.Kill()
		_ = second.Wait()
	})
	return reached
}

// crashes waits for a server to end, at the latest when it cannot reach its crash point any
// more.
func (b *killBundle) crashes(done <-chan struct{}) bool {
	b.t.Helper()
	const afterTheEnd = 5 * time.Second // time after the last flush
	var last time.Time
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		select {
		case <-done:
			return true
		case <-time.After(50 * time.Millisecond):
		}
		var ended bool
		require.NoError(b.t, b.pool.QueryRow(b.ctx, "SELECT count(*) > 0 AND bool_and(finished_at IS NOT NULL) FROM executions").Scan(&ended))
		switch {
		case !ended:
			last = time.Time{}
		case last.IsZero():
			last = time.Now()
		case time.Since(last) > afterTheEnd:
			return false
		}
	}
	b.dump()
	b.t.Fatal("the server neither crashed nor ended")
	return false
}
