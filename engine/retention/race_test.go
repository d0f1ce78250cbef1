package retention

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/artifact/s3test"
)

// stores are the blob stores: a folder, and a real S3 server.
func stores(t *testing.T) map[string]func(t *testing.T) artifact.Remover {
	t.Helper()
	return map[string]func(t *testing.T) artifact.Remover{
		"disk": func(*testing.T) artifact.Remover { return nil }, // setup creates one
		"s3": func(t *testing.T) artifact.Remover {
			t.Helper()
			server := s3test.Start(t, "bucket")
			store, err := artifact.OpenS3(t.Context(), artifact.S3Config{
				Bucket: "bucket", Prefix: "some/where", Endpoint: server.Endpoint, PathStyle: true, Credentials: s3test.Credentials(),
			})
			require.NoError(t, err)
			return store
		},
	}
}

// atPoint runs do in another session when a sweep reaches a point. The sweep waits for
// it unless do waits for the sweep.
func (b *testBundle) atPoint(point string, do func() error) (result func() error) {
	done := make(chan error, 1)
	reached := false
	b.crash = func(at string) {
		if at != point || reached {
			return
		}
		reached = true
		go func() { done <- do() }()
		select {
		case err := <-done:
			done <- err
		case <-time.After(300 * time.Millisecond): // it waits for the sweep
		}
	}
	return func() error {
		b.crash = func(string) {}
		require.True(b.t, reached, "the sweep never reached %s", point)
		return <-done
	}
}

// TestBytesThatAreUploadedDuringTheirRemoval uploads bytes at each point of a sweep that removes
// them. Either the upload succeeds and the bytes exist afterwards, or it fails with Unavailable
// and can be repeated.
func TestBytesThatAreUploadedDuringTheirRemoval(t *testing.T) {
	t.Parallel()
	const text = "the same bytes"
	points := []string{"blobs.marked", "blobs.forgetting", "blobs.forgotten", "store.held", "store.deleting", "store.deleted"}
	for name, store := range stores(t) {
		for _, point := range points {
			if name == "s3" && !strings.HasPrefix(point, "store.de") {
				continue // the store is not involved
			}
			for _, who := range []string{"the same project", "another"} {
				t.Run(name+"/"+point+"/"+who, func(t *testing.T) {
					t.Parallel()
					b := setup(t, store(t), nil)
					project := auth.LocalProject
					hash := b.upload(project, text)
					if who == "another" {
						project = b.project("other")
					}
					b.clock.add(aWhile)
					result := b.atPoint(point, func() error {
						_, err := b.artifacts.Upload(b.in(project), strings.NewReader(text))
						return err
					})
					b.sweep()
					err := result()
					if err != nil {
						require.True(t, apperr.Is(err, apperr.Unavailable), "%v", err)
						require.Equal(t, hash, b.upload(project, text))
					}
					b.there(project, hash, "it was just uploaded")
					b.sweep()
					b.there(project, hash, "and stays for the grace")
				})
			}
		}
	}
}

// TestBytesThatAreLookedUpDuringTheirRemoval looks up bytes at each point of a sweep that removes
// them. The answer must be correct, because a client that finds them does not upload them again.
func TestBytesThatAreLookedUpDuringTheirRemoval(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"blobs.marked", "blobs.forgetting", "blobs.forgotten", "store.held"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil, nil)
			hash := b.upload(auth.LocalProject, "bytes")
			b.clock.add(aWhile)
			result := b.atPoint(point, func() error {
				_, err := b.artifacts.Blob(b.ctx, auth.LocalProject, hash, "")
				return err
			})
			b.sweep()
			if err := result(); err != nil {
				require.True(t, apperr.Is(err, apperr.NotFound), "%v", err)
				b.gone(auth.LocalProject, hash, "as reported")
				return
			}
			b.there(auth.LocalProject, hash, "as reported")
		})
	}
}

func TestAnArtifactThatIsNamedWhileItsExecutionGoes(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"executions.marked", "executions.telemetry", "executions.nodes", "executions.written", "executions.gone"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil, nil)
			p := auth.LocalProject
			owner, user := b.execution(p, "SUCCEEDED", `{}`), b.execution(p, "SUCCEEDED", `{}`)
			hash := b.upload(p, "out")
			id := b.publish(p, owner, hash, "")
			b.expire(owner)
			b.clock.add(aWhile)
			used := false
			result := b.atPoint(point, func() error { used = b.use(p, user, id); return nil })
			b.sweep()
			require.NoError(t, result())
			n := b.count(`SELECT count(*) FROM artifacts WHERE id = $1`, id)
			require.Equal(t, used, n == 1, "if its use was recorded, it exists")
			if used {
				b.there(p, hash, "it is referenced")
			}
		})
	}
}

func TestSweepsOnS3(t *testing.T) {
	t.Parallel()
	b := setup(t, stores(t)["s3"](t), nil)
	p := auth.LocalProject
	gone := b.upload(p, "loose")
	file := b.upload(p, "a file")
	folder := b.folder(p, file)
	b.execution(p, "SUCCEEDED", `{"d": {"$file": "`+folder+`"}}`)
	b.clock.add(aWhile)
	b.sweep()
	b.gone(p, gone, "it is not referenced")
	b.there(p, file, "it is in a referenced folder")
	b.there(p, folder, "it is referenced")
}

// Blobs in the store without a row are found and removed after their grace period.
func TestStraysGoAfterTheirGrace(t *testing.T) {
	t.Parallel()
	for name, store := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, store(t), nil)
			stray, err := b.store.Put(b.ctx, strings.NewReader("a server stopped between the two"), "")
			require.NoError(t, err)
			b.sweep()
			_, err = b.store.Stat(b.ctx, stray.SHA256)
			require.NoError(t, err, "an upload may be in progress")
			b.clock.add(aWhile)
			b.sweep()
			_, err = b.store.Stat(b.ctx, stray.SHA256)
			require.True(t, apperr.Is(err, apperr.NotFound), "%v", err)
		})
	}
}

func TestOneSweepAtATime(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	b.upload(auth.LocalProject, "x")
	result := b.atPoint("blobs.marked", func() error {
		_, err := b.Sweep(context.WithoutCancel(b.ctx), false)
		return err
	})
	b.sweep()
	require.True(t, apperr.Is(result(), apperr.Conflict))
	b.sweep() // the lock was released
	require.NoError(t, b.SweepWhenDue(b.ctx, time.Hour))
	n := b.count(`SELECT count(*) FROM sweeps`)
	b.clock.add(time.Hour)
	require.NoError(t, b.SweepWhenDue(b.ctx, time.Hour))
	require.Equal(t, n+1, b.count(`SELECT count(*) FROM sweeps`), "it is due")
}
