package ha_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rounds is how many times a leader is killed, and how many times one is frozen:
// FLOWFORGE_HA_ROUNDS.
func rounds(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("FLOWFORGE_HA_ROUNDS"))
	if err != nil {
		return 50
	}
	return n
}

// freezers is how many installations share the rounds with a frozen leader, which mostly
// wait. They run in parallel regardless of the limit of parallel tests.
const freezers = 4

// TestLeaderIsKilled: the leader is killed repeatedly while executions run. Another
// server takes over each time, and nothing is lost or done twice.
func TestLeaderIsKilled(t *testing.T) {
	t.Parallel()
	in := setup(t)
	took := in.withoutLeaders(rounds(t), func(leader *server) time.Duration { return in.kill(leader) })
	record(t, "kill", took)
}

// TestLeaderIsFrozen: the same with a leader that is frozen and continues after another
// one leads: none of its later writes is accepted.
func TestLeaderIsFrozen(t *testing.T) {
	t.Parallel()
	took := make([][]time.Duration, freezers)
	var side sync.WaitGroup
	for i := range freezers {
		side.Go(func() {
			t.Run(strconv.Itoa(i), func(t *testing.T) { //nolint:paralleltest // the installations run in parallel
				in := setup(t)
				took[i] = in.withoutLeaders((rounds(t)+i)/freezers, func(leader *server) time.Duration { return in.freeze(leader) })
				in.checkWitness()
			})
		})
	}
	side.Wait()
	record(t, "freeze", slices.Concat(took...))
}

// withoutLeaders takes the leader away repeatedly, and returns how long nothing moved
// each time.
func (in *installation) withoutLeaders(rounds int, take func(leader *server) time.Duration) (took []time.Duration) {
	in.t.Helper()
	front := in.start("web,worker")
	in.start("scheduler,launcher")
	in.start("scheduler,launcher")
	in.register(front, chain)
	in.witness()
	load := in.load(front, "chain")
	for range rounds {
		took = append(took, take(in.leader()))
	}
	in.checkAll(load(), "SUCCEEDED")
	require.NotZero(in.t, in.number("SELECT count(*) FROM ha_takeovers"))
	return took
}

// alive is how many executions run at a time: enough that something can always move, and
// few enough for a machine that is busy with other tests.
const alive = 5

// load keeps executions running that it launches through s, until the returned function
// is called, which returns their number.
func (in *installation) load(s *server, name string) func() int {
	stop := make(chan struct{})
	var count int
	var all sync.WaitGroup
	all.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
			if in.number("SELECT count(*) FROM executions WHERE finished_at IS NULL") < alive {
				in.launch(s, name)
				count++
			}
		}
	})
	var once sync.Once
	end := func() { once.Do(func() { close(stop) }); all.Wait() }
	in.t.Cleanup(end)
	return func() int {
		end()
		return count
	}
}

// kill ends the leader with SIGKILL, starts another server, and returns how long nothing
// moved.
func (in *installation) kill(leader *server) time.Duration {
	in.t.Helper()
	at := time.Now()
	in.forget(leader)
	require.NoError(in.t, leader.cmd.Process.Kill())
	<-leader.done
	took := in.moved(leader, at)
	in.start("scheduler,launcher")
	return took
}

// freeze stops the leader until another one leads, then continues it.
func (in *installation) freeze(leader *server) time.Duration {
	in.t.Helper()
	at := time.Now()
	require.NoError(in.t, leader.cmd.Process.Signal(syscall.SIGSTOP))
	took := in.moved(leader, at)
	require.NotEqual(in.t, leader.name, in.leader().name)
	require.NoError(in.t, leader.cmd.Process.Signal(syscall.SIGCONT))
	in.until("the thawed server is ready", func() bool {
		status, err := in.try(leader, "GET", "/readyz", nil, nil)
		return err == nil && status == 200
	})
	return took
}

// moved waits for the first transition that another server writes after a leader has
// ended: a commit of the old leader may have been in progress.
func (in *installation) moved(leader *server, at time.Time) time.Duration {
	in.t.Helper()
	query := "SELECT count(*) FROM ha_moves WHERE split_part(writer, '/', 2) <> '" + leader.name + "'"
	before := in.number(query)
	in.until("an execution moves", func() bool { return in.number(query) > before })
	return time.Since(at)
}

// record logs the distribution, and appends it to the file in FLOWFORGE_HA_RESULTS.
func record(t *testing.T, what string, took []time.Duration) {
	t.Helper()
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	at := func(share float64) time.Duration {
		return took[min(len(took)-1, int(share*float64(len(took))))].Round(time.Millisecond)
	}
	line := fmt.Sprintf("| %s | %d | %s | %s | %s |\n", what, len(took), at(0.5), at(0.99), took[len(took)-1].Round(time.Millisecond))
	t.Log(line)
	path := os.Getenv("FLOWFORGE_HA_RESULTS")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	_, err = f.WriteString(line)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
