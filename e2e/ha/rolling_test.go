package ha_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// rolled is how many executions run while every server is replaced.
const rolled = 200

// TestRollingRestart replaces every server, one after another, while executions run.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	in := setup(t)
	old := []*server{in.start("web,worker"), in.start("web,worker"), in.start("scheduler,launcher"), in.start("scheduler,launcher")}
	roles := []string{"web,worker", "web,worker", "scheduler,launcher", "scheduler,launcher"}
	in.register(old[0], holding)
	for i := range rolled {
		in.launch(old[i%2], "holding")
	}
	in.until("all run", func() bool { return in.tasks.running() == rolled })
	var fresh *server
	for i, s := range old {
		fresh = in.start(roles[i])
		require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
		in.forget(s)
		<-s.done
		require.NoError(t, s.err, "%s must shut down cleanly", s.name)
	}
	require.Equal(t, rolled, in.tasks.running())
	in.leader()
	in.tasks.openAll()
	in.checkAll(rolled, "SUCCEEDED")
	require.NotNil(t, fresh)
}
