package helm_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/flowforge/flowforge/app"
	"github.com/flowforge/flowforge/data/artifact/s3test"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/platform/certificate/certtest"
	"github.com/flowforge/flowforge/platform/freeport"
)

const (
	bucket     = "forge"
	adminToken = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// installation runs the chart's servers as processes on this machine, with the chart's settings
// and permissions in a real cluster. ClickHouse is unavailable.
type installation struct {
	*cluster

	dir, program string
	prefix       string // of the projects' namespaces
	s3           *s3test.Server
	collector    *collector
	taskAddress  string
	secrets      map[string]string // by name/key
	servers      map[string]*process
}

// process is a server of a Deployment.
type process struct {
	dir     string
	address string
	mu      sync.Mutex
	output  bytes.Buffer
}

func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.Write(text)
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// install starts every Deployment of the production-like values.
func install(t *testing.T) *installation {
	t.Helper()
	dir, err := os.MkdirTemp("", "ffchart") // short: unix sockets have short names
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	in := &installation{cluster: setup(t), dir: dir, program: filepath.Join(dir, "flowforge"), servers: map[string]*process{}}
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "nochdb", "-o", in.program, "../../cmd/flowforge")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	in.prefix, in.s3, in.collector = in.own.Prefix, s3test.Start(t, bucket), newCollector(t)
	in.taskAddress = freeport.Address(t)
	in.secrets = map[string]string{
		"forge-postgres/url": dbtest.NewURL(t), "forge-flowforge-clickhouse/url": "http://127.0.0.1:1/forge",
		"forge-s3/access-key-id": s3test.AccessKey, "forge-s3/secret-access-key": s3test.SecretKey,
	}
	_, err = app.InitSecrets(in.path("keys"))
	require.NoError(t, err)
	in.certificates(t)
	in.impersonate(t)
	in.images(t)
	for _, o := range render(t, in.namespace, "--values", filepath.Join(chart, "ci", "external.yaml"), "--set-string", "tracing.samplerRatio=1", "--set", strings.Join([]string{
		"kube.namespacePrefix=" + in.prefix, "kube.defaults.schedulerName=none", "tracing.endpoint=" + in.collector.URL,
		"artifacts.s3.endpoint=" + in.s3.Endpoint, "artifacts.s3.region=us-east-1", "artifacts.s3.bucket=" + bucket,
	}, ",")) {
		switch o.GetKind() {
		case "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
			in.apply(t, o)
		case "Deployment":
			in.start(t, o.GetLabels()["app.kubernetes.io/component"], podOf(t, o).Spec.Containers[0])
		}
	}
	for name, p := range in.servers {
		in.eventually(t, name+" is not ready", func(ctx context.Context) bool {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+"/readyz", nil)
			if err != nil {
				return false
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return false
			}
			_ = resp.Body.Close()
			return resp.StatusCode == http.StatusOK
		})
	}
	return in
}

func (in *installation) path(name string) string { return filepath.Join(in.dir, name) }

// certificates creates the certificates of the Secrets that the values name.
func (in *installation) certificates(t *testing.T) {
	t.Helper()
	authority := certtest.New(t)
	ca, err := os.ReadFile(authority.File)
	require.NoError(t, err)
	for folder, name := range map[string]string{"task-tls": "localhost", "pod-tls": "task", "internal-tls": "flowforge-internal"} {
		require.NoError(t, os.Mkdir(in.path(folder), 0o700))
		authority.Issue(t, in.path(folder), name, time.Now().Add(time.Hour))
		require.NoError(t, os.WriteFile(filepath.Join(in.path(folder), "ca.crt"), ca, 0o600))
	}
}

// images creates the registry credentials and the default commands of images that the values name.
func (in *installation) images(t *testing.T) {
	t.Helper()
	for name, content := range map[string]string{
		"registries/config.json": `{"auths": {}}`, "images/commands.yaml": "registry.example.com/ml/tool:1: {entrypoint: [/tool], cmd: [help]}",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(in.path(name)), 0o700))
		require.NoError(t, os.WriteFile(in.path(name), []byte(content), 0o600))
	}
}

// impersonate writes a kubeconfig with the permissions of the chart's account.
func (in *installation) impersonate(t *testing.T) {
	t.Helper()
	config, err := clientcmd.LoadFromFile(in.cluster.path)
	require.NoError(t, err)
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:serviceaccount:" + in.namespace + ":forge-flowforge-engine"
	}
	require.NoError(t, clientcmd.WriteToFile(*config, in.path("kubeconfig")))
}

// start runs the container of a Deployment, with addresses and folders of this machine.
func (in *installation) start(t *testing.T, name string, c corev1.Container) {
	t.Helper()
	p := &process{dir: in.path(name), address: freeport.Address(t)}
	require.NoError(t, os.Mkdir(p.dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "admin.token"), []byte(adminToken+"\n"), 0o600))
	internal := freeport.Address(t)
	here := map[string]string{
		"FLOWFORGE_ADDR": p.address, "FLOWFORGE_INTERNAL_ADDR": internal, "FLOWFORGE_ADVERTISE_ADDR": internal, "FLOWFORGE_METRICS_ADDR": freeport.Address(t),
		"FLOWFORGE_TASK_ADDR": in.taskAddress, "FLOWFORGE_TASK_URL": "https://localhost" + in.taskAddress[strings.LastIndex(in.taskAddress, ":"):],
	}
	folders := strings.NewReplacer("/var/lib/flowforge", p.dir, "/etc/flowforge", in.dir, "$(POD_NAMESPACE)", in.namespace)
	environ := []string{"PATH=" + os.Getenv("PATH"), "FLOWFORGE_KUBE_CONFIG=" + in.path("kubeconfig"), "OTEL_BSP_SCHEDULE_DELAY=200"}
	for _, e := range c.Env {
		value := folders.Replace(e.Value)
		if other, ok := here[e.Name]; ok {
			value = other
		}
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			value = in.secrets[e.ValueFrom.SecretKeyRef.Name+"/"+e.ValueFrom.SecretKeyRef.Key]
		}
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
			value = map[string]string{"metadata.name": "forge-" + name + "-1", "metadata.namespace": in.namespace, "status.podIP": "127.0.0.1"}[e.ValueFrom.FieldRef.FieldPath]
		}
		environ = append(environ, e.Name+"="+value)
	}
	in.spawn(t, p, environ, c.Args...)
	in.servers[name] = p
}

// spawn runs the program until the end of the test.
func (in *installation) spawn(t *testing.T, p *process, environ []string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), in.program, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = environ, p.dir, p, p
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%v %s:\n%.20000s", args, filepath.Base(p.dir), p.log())
		}
	})
}
