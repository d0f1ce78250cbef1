package execution_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/platform/freeport"
	"github.com/flowforge/flowforge/typeregistry"
)

// fragilePool is a pool whose database is unreachable during an outage.
type fragilePool struct {
	*pgxpool.Pool

	outage  atomic.Bool
	refused chan struct{} // has an element once a connection was refused
}

func newFragilePool(t *testing.T, pool *pgxpool.Pool) *fragilePool {
	t.Helper()
	p := &fragilePool{refused: make(chan struct{}, 1)}
	config := pool.Config()
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if !p.outage.Load() {
			return dial(ctx, network, address)
		}
		select {
		case p.refused <- struct{}{}:
		default:
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", freeport.Address(t))
	}
	var err error
	p.Pool, err = pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// fail begins an outage.
func (p *fragilePool) fail() {
	p.outage.Store(true)
	p.Reset()
}

// awaitRefusal waits until a connection was refused, and ends the outage.
func (p *fragilePool) awaitRefusal(t *testing.T) {
	t.Helper()
	await(t, p.refused)
	p.outage.Store(false)
}

// await waits for a signal.
func await(t *testing.T, signal <-chan struct{}) {
	t.Helper()
	select {
	case <-signal:
	case <-time.After(30 * time.Second):
		require.FailNow(t, "the signal did not arrive")
	}
}

// TestAnOutageFailsNoAttempt: the database of artifacts does not respond when a task has succeeded. Its
// attempt stays successful, because its outputs are read again after the outage.
func TestAnOutageFailsNoAttempt(t *testing.T) {
	t.Parallel()
	var pool *fragilePool
	b := setup(t, func(c *execution.Config) {
		pool = newFragilePool(t, c.Pool)
		store, err := artifact.OpenStore(t.TempDir())
		require.NoError(t, err)
		c.Artifacts = artifact.NewService(pool.Pool, store, time.Now)
	})
	pool.fail()
	b.keepFiles()
	id := b.launch(`
name: outage
version: 1.0.0
operators:
  - {name: train, type: shell, code: {script: "echo weights"}, outputs: [{name: model, type: File}]}
`, nil)
	pool.awaitRefusal(t)
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status, "%v", e.Error)
}

// TestCacheLooksUpEntriesAfterAnOutage: the catalogue does not respond when the cache is searched for a
// node that reads its newest version. The key of the result contains the version all the same.
func TestCacheLooksUpEntriesAfterAnOutage(t *testing.T) {
	t.Parallel()
	var pool *fragilePool
	var entries *catalogue.Service
	b := setup(t, func(c *execution.Config) {
		pool = newFragilePool(t, c.Pool)
		entries = catalogue.NewService(pool.Pool, time.Now)
		c.Catalogue = engineCatalogue{entries}
	})
	blob, err := b.artifacts.Upload(b.ctx, strings.NewReader("a,b\n1,2\n"))
	require.NoError(t, err)
	_, _, err = entries.Register(b.ctx, catalogue.Entry{Kind: typeregistry.KindDataset, Name: "sales", Version: "1", Format: "csv", Blob: &catalogue.BlobRef{SHA256: blob.SHA256, Size: blob.Size, Filename: "sales.csv"}})
	require.NoError(t, err)
	ran, flag := filepath.Join(t.TempDir(), "ran"), filepath.Join(t.TempDir(), "flag")
	id := b.launch(fmt.Sprintf(`
name: newest
version: 1.0.0
operators:
  - {name: before, type: shell, code: {script: 'until test -e %s; do sleep 0.01; done'}}
  - name: train
    type: shell
    depends_on: [before]
    cache: true
    inputs: [{name: data, type: Dataset, value: {"$catalogue": sales}}]
    code: {script: 'echo run >> %s'}
`, flag, ran), nil)
	b.until(id, "the first task runs", func(e query.Execution) bool { return e.Counts.Running == 1 })
	pool.fail()
	require.NoError(t, os.WriteFile(flag, nil, 0o600))
	pool.awaitRefusal(t)
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status, "%v", e.Error)
	b.again(execution.LaunchRequest{Workflow: "newest"})
	require.Equal(t, 1, lines(t, ran), "the second execution reads the same version, so it reuses the result")
}

// TestAnOutageRefusesNoLaunch: a launch that cannot look up a dataset is repeated later. An invalid
// launch would not be: a schedule or a trigger would give it up.
func TestAnOutageRefusesNoLaunch(t *testing.T) {
	t.Parallel()
	var pool *fragilePool
	b := setup(t, func(c *execution.Config) {
		pool = newFragilePool(t, c.Pool)
		c.Catalogue = engineCatalogue{catalogue.NewService(pool.Pool, time.Now)}
	})
	b.register(scoring)
	pool.fail()
	_, _, err := b.engine.Launches.Launch(b.ctx, score("net@1"))
	require.Equal(t, apperr.Unavailable, apperr.CodeOf(err), "%v", err)
	pool.awaitRefusal(t)
	_, _, err = b.engine.Launches.Launch(b.ctx, score("net@1"))
	require.Equal(t, apperr.Invalid, apperr.CodeOf(err), "the model really does not exist")
}

// failedStatements signals each failed statement of a pool that contains text.
type failedStatements struct {
	text   string
	failed chan struct{} // has an element once one failed
}

type statementText struct{}

func (f *failedStatements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, statementText{}, data.SQL)
}

func (f *failedStatements) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	if sql, _ := ctx.Value(statementText{}).(string); data.Err == nil || !strings.Contains(sql, f.text) {
		return
	}
	select {
	case f.failed <- struct{}{}:
	default:
	}
}

// TestAFailedStatementFailsNoAttempt: PostgreSQL answers a statement that prepares an attempt with an
// error. The attempt is prepared again, and none of its retries is used.
func TestAFailedStatementFailsNoAttempt(t *testing.T) {
	t.Parallel()
	failures := &failedStatements{text: "name: GetCheckpointFolder ", failed: make(chan struct{}, 1)}
	b := setup(t, func(c *execution.Config) {
		config := c.Pool.Config()
		config.ConnConfig.Tracer = failures
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		c.Pool = pool
	})
	rename := func(from, to string) {
		_, err := b.pool.Exec(b.ctx, "ALTER TABLE "+from+" RENAME TO "+to)
		require.NoError(t, err)
	}
	rename("checkpoint_folders", "checkpoint_folders_away")
	id := b.launch(`
name: prepared
version: 1.0.0
operators: [{name: a, type: shell, code: {script: "test $RETRY = 1"}, retry: {limit: 1, initial_delay: 10ms, jitter: 0}}]
`, nil)
	await(t, failures.failed)
	rename("checkpoint_folders_away", "checkpoint_folders")
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status, "%v", e.Error)
	require.Len(t, b.node(id, "a").Attempts, 2)
}
