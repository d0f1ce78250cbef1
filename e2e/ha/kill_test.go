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

// rounds is how often a leader is killed, and how often one is frozen: FLOWFORGE_HA_ROUNDS.
func rounds(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("FLOWFORGE_HA_ROUNDS"))
	if err != nil {
		return 50
	}
	return n
}

// freezers is how many installations share the rounds of a frozen leader, which are
// spent waiting. They run side by side however many tests may.
const freezers = 4

// The leader is killed over and over while executions run: another one goes on each
// time, and nothing is lost or done twice.
func TestLeaderIsKilled(t *testing.T) {
	t.Parallel()
	in := setup(t)
	took := in.withoutLeaders(rounds(t), func(leader *server) time.Duration { return in.kill(leader) })
	record(t, "kill", took)
}

// The same with a leader that is frozen, and thaws once another leads: nothing that it
// still writes is accepted.
func TestLeaderIsFrozen(t *testing.T) {
	t.Parallel()
	took := make([][]time.Duration, freezers)
	var side sync.WaitGroup
	for i := range freezers {
		side.Go(func() {
			t.Run(strconv.Itoa(i), func(t *testing.T) { //nolint:paralleltest // the others run beside it
				in := setup(t)
				took[i] = in.withoutLeaders((rounds(t)+i)/freezers, func(leader *server) time.Duration { return in.freeze(leader) })
				in.checkWitness()
			})
		})
	}
	side.Wait()
	record(t, "freeze", slices.Concat(took...))
}

// withoutLeaders takes the leader away again and again, and answers how long each time
// nothing moved.
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

// alive is how many executions run at a time: enough that something always can move,
// and few enough that a machine which is busy with other tests keeps up.
const alive = 5

// load keeps executions running that are launched by way of s until the function that
// it returns is called, which answers how many there were.
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

// kill ends the leader with SIGKILL, returns how long nothing moved, and starts another
// server in its place.
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

// freeze stops the leader for as long as it takes another to lead, and lets it go on.
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
// gone: a commit of its own may still have been on its way.
func (in *installation) moved(leader *server, at time.Time) time.Duration {
	in.t.Helper()
	query := "SELECT count(*) FROM ha_moves WHERE split_part(writer, '/', 2) <> '" + leader.name + "'"
	before := in.number(query)
	in.until("an execution moves", func() bool { return in.number(query) > before })
	return time.Since(at)
}

// record logs the distribution, and adds it to the file that FLOWFORGE_HA_RESULTS names.
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
