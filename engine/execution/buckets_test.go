package execution_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// withSecrets lets the engine read secrets of projects.
func withSecrets(t *testing.T, into **secret.Service) option {
	t.Helper()
	return func(c *execution.Config) {
		keys, err := secret.NewKeyring(bytes.Repeat([]byte("s"), 32))
		require.NoError(t, err)
		c.Secrets = secret.NewService(c.Pool, keys, time.Now)
		*into = c.Secrets
	}
}

// TestBucketsOfATask: a task can read its inputs and write its outputs, and nothing else. A key
// with the number of the retry is that of the calling attempt.
func TestBucketsOfATask(t *testing.T) {
	t.Parallel()
	var secrets *secret.Service
	b := argoSetup(t, withSecrets(t, &secrets))
	for _, name := range []string{"case.access", "case.secret"} {
		_, err := secrets.Put(b.ctx, secret.Edit{Name: name, Value: "a long secret", Create: true})
		require.NoError(t, err)
	}
	id := b.launch(argoStopped("buckets", `
entrypoint: main
templates:
- name: main
  retryStrategy: {limit: 1, retryPolicy: Always}
  inputs: {artifacts: [{name: in, path: /tmp/in, s3: {endpoint: s3.example.com, bucket: given, key: data/one.txt, accessKeySecret: {name: case, key: access}, secretKeySecret: {name: case, key: secret}}}]}
  outputs: {artifacts: [{name: out, path: /tmp/out, archive: {none: {}}, s3: {endpoint: s3.example.com, bucket: made, key: "results/{{retries}}.txt", accessKeySecret: {name: case, key: access}, secretKeySecret: {name: case, key: secret}}}]}
  container: {image: alpine, command: [sh, -c], args: ["sleep 600"]}`), nil)
	sign := func(attempt int, input, output string, names ...string) (*flowforgev1.SignBucketRequestsResponse, error) {
		return b.engine.Tasks.SignBucketRequests(b.asTask(id, 0, attempt), &flowforgev1.SignBucketRequestsRequest{Input: input, Output: output, Names: names})
	}
	running := func(attempt int) {
		require.Eventually(t, func() bool {
			n, err := b.engine.Nodes.Get(b.ctx, id, "main")
			return err == nil && n.State == dag.Running && n.Attempt == attempt
		}, 20*time.Second, 10*time.Millisecond)
	}
	running(1)
	names, err := b.engine.Secrets.Names(b.asTask(id, 0, 1), id)
	require.NoError(t, err)
	require.Equal(t, []string{"case.access", "case.secret"}, names, "output of the task is masked")
	got, err := sign(1, "artifacts.in", "", "")
	require.NoError(t, err)
	require.Equal(t, "GET", got.Requests[0].Method)
	require.Contains(t, got.Requests[0].Url, "given/data/one.txt")
	got, err = sign(1, "", "artifacts.out", "")
	require.NoError(t, err)
	require.Equal(t, "PUT", got.Requests[0].Method)
	require.Contains(t, got.Requests[0].Url, "made/results/0.txt")
	for _, bad := range [][]string{{"artifacts.in", "artifacts.out", ""}, {"artifacts.in", "anything", ""}, {"", ""}, {"", "artifacts.out"}} {
		_, err := sign(1, bad[0], bad[1], bad[2:]...)
		require.True(t, apperr.Is(err, apperr.Invalid), "%v: %v", bad, err)
	}
	for _, absent := range [][2]string{{"artifacts.out", ""}, {"", "artifacts.in"}, {"none", ""}} {
		_, err := sign(1, absent[0], absent[1], "")
		require.True(t, apperr.Is(err, apperr.NotFound), "%v: %v", absent, err)
	}
	failed := b.deliver(query.TaskID(id, 0, 1), auth.TaskScope{ExecutionID: id, Attempt: 1}, flowforgev1.Outcome_OUTCOME_FAILED)
	require.True(t, failed.Accepted)
	running(2)
	got, err = sign(2, "", "artifacts.out", "")
	require.NoError(t, err)
	require.Contains(t, got.Requests[0].Url, "made/results/1.txt", "the view is that of the attempt")
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, ""))
	b.finish(id)
}
