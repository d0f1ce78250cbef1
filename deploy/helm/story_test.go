package helm_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flowforge/flowforge/platform/unixsocket"
)

// collector receives traces like the OpenTelemetry collector, through OTLP over HTTP.
type collector struct {
	*httptest.Server

	mu    sync.Mutex
	spans []*tracepb.Span
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var message traces.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &message) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, resource := range message.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// find returns the span of a trace whose name starts with prefix, or nil.
func (c *collector) find(trace, prefix string) *tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if hex.EncodeToString(s.GetTraceId()) == trace && strings.HasPrefix(s.GetName(), prefix) {
			return s
		}
	}
	return nil
}

// call calls the API as the local administrator, through the socket that only users of the
// server's machine can reach.
func (in *installation) call(t *testing.T, method, path, body string, header http.Header) (int, string) {
	t.Helper()
	client := unixsocket.Client(filepath.Join(in.servers["web"].dir, "run", "api.sock"))
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{"Content-Type": {"application/json"}}
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

const definition = `
name: chart.story
version: 1.0.0
outputs:
  - {name: trace, type: String, from: hello.trace}
  - {name: file, type: File, from: hello.file}
operators:
  - name: hello
    type: shell
    outputs:
      - {name: trace, type: String}
      - {name: file, type: File}
    code: {script: 'printf "\"%s\"" "$TRACEPARENT" > "$FLOWFORGE_OUTPUTS/trace"; seq 100000 > "$FLOWFORGE_OUTPUTS/file"'}
    resources: {cpu: 100m, memory: 64Mi}
`

// launched is an execution as the API returns it.
type launched struct {
	ID      string                     `json:"execution_id"`
	Status  string                     `json:"status"`
	Outputs map[string]json.RawMessage `json:"outputs"`
}

func (in *installation) execution(t *testing.T, id string) (e launched) {
	t.Helper()
	status, text := in.call(t, http.MethodGet, "/api/v1/executions/"+id, "", nil)
	require.Equal(t, http.StatusOK, status, text)
	require.NoError(t, json.Unmarshal([]byte(text), &e))
	return e
}

// TestServersOfTheChart runs four servers with one role each, with the settings, permissions and
// certificates of the chart. They run an attempt as a pod of a real cluster. Its files go directly
// to the bucket, and its trace goes to the collector. The test replaces the kubelet: it runs the
// command of the pod with the pod's Secret.
func TestServersOfTheChart(t *testing.T) {
	t.Parallel()
	in := install(t)
	status, text := in.call(t, http.MethodPost, "/api/v1/workflows", definition, http.Header{"Content-Type": {"application/yaml"}})
	require.Equal(t, http.StatusCreated, status, text)
	const trace, caller = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	status, text = in.call(t, http.MethodPost, "/api/v1/executions", `{"workflow":"chart.story"}`,
		http.Header{"Content-Type": {"application/json"}, "Traceparent": {"00-" + trace + "-" + caller + "-01"}})
	require.Equal(t, http.StatusCreated, status, text)
	var e launched
	require.NoError(t, json.Unmarshal([]byte(text), &e))

	p := in.pod(t, e.ID)
	traceparent := p.Annotations["flowforge.io/traceparent"]
	require.True(t, strings.HasPrefix(traceparent, "00-"+trace+"-"), traceparent)
	in.runAsKubelet(t, p)
	in.eventually(t, "the execution does not succeed", func(context.Context) bool { return in.execution(t, e.ID).Status == "SUCCEEDED" })
	e = in.execution(t, e.ID)
	require.JSONEq(t, `"`+traceparent+`"`, string(e.Outputs["trace"]), "the task has the context of its attempt")

	var node *tracepb.Span
	in.eventually(t, "the trace is not told", func(context.Context) bool {
		node = in.collector.find(trace, "node hello")
		return node != nil && in.collector.find(trace, "execution chart.story") != nil && in.collector.find(trace, "POST /api/v1/executions") != nil
	})
	request, whole := in.collector.find(trace, "POST /api/v1/executions"), in.collector.find(trace, "execution chart.story")
	require.Equal(t, caller, hex.EncodeToString(request.GetParentSpanId()))
	require.Equal(t, request.GetSpanId(), whole.GetParentSpanId())
	require.Equal(t, whole.GetSpanId(), node.GetParentSpanId())
	require.Equal(t, strings.Split(traceparent, "-")[2], hex.EncodeToString(node.GetSpanId()), "what the task tells is below its attempt")

	in.bucketUnreachable(t)
	for name, s := range in.servers {
		for line := range strings.Lines(s.log()) {
			require.NotContains(t, line, "forbidden", "%s lacks a permission", name)
		}
	}
}

// pod waits for the pod of an execution.
func (in *installation) pod(t *testing.T, execution string) (found corev1.Pod) {
	t.Helper()
	in.eventually(t, "no pod is made", func(ctx context.Context) bool {
		list, err := in.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{LabelSelector: "flowforge.io/execution-id=" + execution})
		if err != nil || len(list.Items) != 1 {
			return false
		}
		found = list.Items[0]
		_, err = in.client.CoreV1().Secrets(found.Namespace).Get(ctx, found.Name, metav1.GetOptions{})
		return err == nil
	})
	require.True(t, strings.HasPrefix(found.Namespace, in.prefix), found.Namespace)
	return found
}

// runAsKubelet runs the command of the pod's container with its environment and Secret.
func (in *installation) runAsKubelet(t *testing.T, p corev1.Pod) {
	t.Helper()
	secret, err := in.client.CoreV1().Secrets(p.Namespace).Get(t.Context(), p.Name, metav1.GetOptions{})
	require.NoError(t, err)
	task := &process{dir: in.path(p.Name)}
	require.NoError(t, os.Mkdir(task.dir, 0o700))
	for name, content := range secret.Data {
		require.NoError(t, os.WriteFile(filepath.Join(task.dir, name), content, 0o600))
	}
	i := slices.IndexFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == "task" })
	folders := strings.NewReplacer("/flowforge-task", task.dir, "/flowforge-private", filepath.Join(task.dir, "private"),
		"/flowforge/flowforge", in.program, "/flowforge/run", filepath.Join(task.dir, "run"))
	environ := []string{"PATH=" + os.Getenv("PATH")}
	for _, e := range p.Spec.Containers[i].Env {
		if e.ValueFrom == nil {
			environ = append(environ, e.Name+"="+folders.Replace(e.Value))
		}
	}
	var args []string
	for _, word := range p.Spec.Containers[i].Command[1:] {
		args = append(args, folders.Replace(word))
	}
	in.spawn(t, task, environ, args...)
}

// bucketUnreachable checks that servers report an unavailable bucket and stay ready, and that they use
// the bucket as soon as it is available again.
func (in *installation) bucketUnreachable(t *testing.T) {
	t.Helper()
	var content strings.Builder
	for i := 1; i <= 100000; i++ {
		fmt.Fprintln(&content, i)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(content.String())))
	_, err := os.Stat(filepath.Join(in.s3.Dir, bucket, "artifacts", "data", sum[:2], sum[2:4], sum))
	require.NoError(t, err, "the file is in the bucket")

	in.s3.Stop()
	status, text := in.call(t, http.MethodPost, "/api/v1/blobs?filename=a.txt", "some text", http.Header{"Content-Type": {"text/plain"}})
	require.Equal(t, http.StatusServiceUnavailable, status, text)
	require.Contains(t, text, "The artifact store is not responding. Try again in a moment.")
	status, text = in.call(t, http.MethodGet, "/readyz", "", nil)
	require.Equal(t, http.StatusOK, status, text)
	in.s3.Resume(t)
	status, text = in.call(t, http.MethodPost, "/api/v1/blobs?filename=a.txt", "some text", http.Header{"Content-Type": {"text/plain"}})
	require.Less(t, status, 300, text)
}
