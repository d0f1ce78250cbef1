package kube_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/compute/launcher/kube/image"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// imageBundle is a client whose images are in a real registry.
type imageBundle struct {
	*fakeAPI
	*kube.Client
	t    *testing.T
	host string
	gate func(http.ResponseWriter, *http.Request) bool // returns true if it has answered; set it before use
	now  atomic.Int64
}

func imageSetup(t *testing.T) *imageBundle {
	t.Helper()
	b := &imageBundle{fakeAPI: newFakeAPI(), t: t}
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || b.gate == nil || !b.gate(w, r) {
			store.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	b.host = strings.TrimPrefix(server.URL, "http://")
	b.Client = kube.NewFor(kube.Config{
		Installation: "i1", Image: "flowforge:1", Concurrency: 1, ImageTimeout: time.Minute,
		InsecureRegistries: []string{b.host}, ImageCommands: map[string]image.Command{"known:1": {Cmd: []string{"sh"}}},
		Now: func() time.Time { return time.Unix(1_800_000_000, b.now.Load()) },
		Projects: func(context.Context) ([]kube.Project, error) {
			return []kube.Project{{ID: projectID, Namespace: namespace}}, nil
		},
	}, b.fakeAPI, nil)
	return b
}

func (b *imageBundle) push(where string, config v1.Config) string {
	b.t.Helper()
	made, err := mutate.Config(empty.Image, config)
	require.NoError(b.t, err)
	ref, err := name.ParseReference(b.host + "/" + where)
	require.NoError(b.t, err)
	require.NoError(b.t, remote.Write(ref, made))
	return ref.String()
}

// silent makes an attempt have no command.
func silent(a launcher.Attempt, ref string, args ...string) {
	a.Image, a.PodJson = ref, `{"imageCommands":{"task":false}}`
	if len(args) > 0 {
		a.PodJson = `{"imageCommands":{"task":true}}`
	}
	a.Work = &flowforgev1.AttemptSpec_Process{Process: &flowforgev1.Process{Command: args, ImageCommand: true, ImageFolder: true}}
}

// commandOf returns the image command that a container of an attempt's pod gets; false when
// the pod does not exist.
func (b *imageBundle) commandOf(a launcher.Attempt, container string) (string, bool) {
	b.t.Helper()
	pods, err := b.CoreV1().Pods(namespace).List(b.t.Context(), metav1.ListOptions{})
	require.NoError(b.t, err)
	for _, p := range pods.Items {
		if p.Labels[pod.LabelTask] != a.GetTaskId() {
			continue
		}
		for _, c := range p.Spec.Containers {
			for _, e := range c.Env {
				if c.Name == container && e.Name == pod.ImageVariable {
					return e.Value, true
				}
			}
		}
		return "", true
	}
	return "", false
}

// start returns the errors of attempts that were not started.
func (b *imageBundle) start(all ...launcher.Attempt) *launcher.StartError {
	b.t.Helper()
	err := b.Start(b.t.Context(), all)
	if err == nil {
		return nil
	}
	var failed *launcher.StartError
	require.ErrorAs(b.t, err, &failed)
	return failed
}

// TestPodsOfImages: a container without a command gets the default command of its image,
// from its registry or the settings; a container with a command does not.
func TestPodsOfImages(t *testing.T) {
	t.Parallel()
	b := imageSetup(t)
	tool := b.push("tool:1", v1.Config{Entrypoint: []string{"/tool"}, Cmd: []string{"$(all)"}})
	bare := b.push("bare:1", v1.Config{})
	all := attempts(5)
	silent(all[0], tool)
	silent(all[1], "known:1")
	silent(all[2], bare, "/bin/app")
	all[3].Image = tool
	all[4].Image = "flowforge:1"
	all[4].PodJson = `{"imageCommands":{"a":false},"members":[{"name":"a","image":"` + tool + `","command":["x"]},{"name":"b","image":"` + tool + `","command":["x"]}]}`
	require.Nil(t, b.start(all...))
	const ofTool = `{"entrypoint":["/tool"],"cmd":["$$(all)"]}`
	for i, want := range []string{ofTool, `{"cmd":["sh"]}`, `{}`, "", ""} {
		got, there := b.commandOf(all[i], pod.Container)
		require.True(t, there)
		require.Equal(t, want, got)
	}
	for member, want := range map[string]string{"a": ofTool, "b": ""} {
		got, _ := b.commandOf(all[4], member)
		require.Equal(t, want, got)
	}
}

// TestArchitectureOfPods: of a multi-platform image, the variant of the pod's machines is
// used.
func TestArchitectureOfPods(t *testing.T) {
	t.Parallel()
	b := imageSetup(t)
	index := mutate.AppendManifests(empty.Index)
	for _, architecture := range []string{"amd64", "arm64"} {
		made, err := mutate.Config(empty.Image, v1.Config{Entrypoint: []string{architecture}})
		require.NoError(t, err)
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: made, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}}})
	}
	ref, err := name.ParseReference(b.host + "/tool:1")
	require.NoError(t, err)
	require.NoError(t, remote.WriteIndex(ref, index))
	all := attempts(2)
	silent(all[0], ref.String())
	silent(all[1], ref.String())
	all[1].PodJson = `{"imageCommands":{"task":false},"nodeSelector":{"kubernetes.io/arch":"arm64"}}`
	require.Nil(t, b.start(all...))
	for i, want := range []string{"amd64", "arm64"} {
		got, _ := b.commandOf(all[i], pod.Container)
		require.Equal(t, `{"entrypoint":["`+want+`"]}`, got)
	}
}

// TestImagesWithoutACommand: the attempt fails with a message that names the image and
// the remedy.
func TestImagesWithoutACommand(t *testing.T) {
	t.Parallel()
	b := imageSetup(t)
	bare := b.push("bare:1", v1.Config{})
	all := attempts(4)
	silent(all[0], b.host+"/missing:1")
	silent(all[1], bare)
	silent(all[2], "No Name")
	all[3].PodJson = `{"imageCommands":{"a":false},"members":[{"name":"a","image":"` + bare + `","command":["x"]}]}`
	failed := b.start(all...)
	require.NoError(t, failed.Err)
	for i, want := range []string{
		"The container has no command, and the default command of its image " + b.host + "/missing:1 cannot be looked up: its registry " + b.host + " does not have it. Set command in the container.",
		"The container has no command, and its image " + bare + " has no default command: it has neither ENTRYPOINT nor CMD. Set command in the container.",
		"The container has no command, and the default command of its image No Name cannot be looked up: this is not an image name. Set command in the container.",
		"The container a has no command, and its image " + bare + " has no default command: it has neither ENTRYPOINT nor CMD. Set command in the container.",
	} {
		end := failed.Refused[all[i].GetTaskId()]
		require.Equal(t, launcher.ClassImage, end.Class)
		require.Equal(t, want, end.Message)
		_, there := b.commandOf(all[i], pod.Container)
		require.False(t, there)
	}
}

// TestSlowRegistryBlocksNoOthers: the only slot for calls to the cluster is free for
// other attempts while a registry does not respond; the registry's own attempts wait and
// report the reason.
func TestSlowRegistryBlocksNoOthers(t *testing.T) {
	t.Parallel()
	b := imageSetup(t)
	tool := b.push("tool:1", v1.Config{Entrypoint: []string{"/tool"}})
	release := make(chan struct{})
	b.gate = func(http.ResponseWriter, *http.Request) bool { <-release; return false }
	all := attempts(12)
	for _, a := range all[:4] {
		silent(a, tool)
	}
	failed := b.start(all...)
	require.ErrorIs(t, failed.Err, launcher.ErrUnreachable, "they are started again")
	require.Empty(t, failed.Refused)
	require.Len(t, failed.Waiting, 4)
	for i, a := range all {
		_, there := b.commandOf(a, pod.Container)
		require.Equal(t, i >= 4, there)
	}
	waiting := failed.Waiting[all[0].GetTaskId()]
	require.Equal(t, launcher.WaitImage, waiting.Code)
	require.Contains(t, waiting.Message, "is being looked up in its registry")
	close(release)
	require.Eventually(t, func() bool { return b.start(all...) == nil }, patience, 10*time.Millisecond)
	b.oneEach(t, all)
	got, _ := b.commandOf(all[0], pod.Container)
	require.Equal(t, `{"entrypoint":["/tool"]}`, got)
}

// TestBusyRegistryIsWaitedFor: an attempt waits for a busy registry as long as for an
// image that cannot be pulled.
func TestBusyRegistryIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := imageSetup(t)
	b.gate = func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusBadGateway)
		return true
	}
	all := attempts(1)
	silent(all[0], b.host+"/tool:1")
	task := all[0].GetTaskId()
	says := func(word string) func() bool {
		return func() bool { return strings.Contains(b.start(all...).Waiting[task].Message, word) }
	}
	require.Eventually(t, says("cannot be looked up: its registry "+b.host+" is unavailable (status 502)."), patience, 10*time.Millisecond)
	b.now.Add(int64(40 * time.Second))
	require.Eventually(t, says("status 502"), patience, 10*time.Millisecond)
	b.now.Add(int64(40 * time.Second))
	var end launcher.End
	require.Eventually(t, func() bool { end = b.start(all...).Refused[task]; return end.Message != "" }, patience, 10*time.Millisecond)
	require.Equal(t, launcher.ClassImage, end.Class)
	require.Contains(t, end.Message, "The lookup has been failing for 1m20s. Set command in the container.")
}

// TestStartedPodOutlivesItsRegistry: an attempt that another server has started does not
// fail because the image has since been deleted.
func TestStartedPodOutlivesItsRegistry(t *testing.T) {
	t.Parallel()
	b := imageSetup(t)
	tool := b.push("tool:1", v1.Config{Entrypoint: []string{"/tool"}})
	all := attempts(2)
	silent(all[0], tool)
	require.Nil(t, b.start(all[0]))
	other := imageSetup(t) // an empty cache and an empty registry
	other.fakeAPI = b.fakeAPI
	other.Client = kube.NewFor(other.Config(), b.fakeAPI, nil)
	all[0].Image = other.host + "/tool:1"
	silent(all[1], other.host+"/tool:1")
	failed := other.start(all...)
	require.Len(t, failed.Refused, 1)
	require.NotEmpty(t, failed.Refused[all[1].GetTaskId()].Message)
}

// warmQueue keeps the enqueued attempts.
type warmQueue struct{ all []string }

func (q *warmQueue) Enqueue(_ context.Context, attempts []launcher.Attempt) error {
	for _, a := range attempts {
		q.all = append(q.all, a.GetTaskId())
	}
	return nil
}
func (q *warmQueue) Withdraw(context.Context, []string) ([]string, error)  { return nil, nil }
func (q *warmQueue) List(context.Context) ([]launcher.ResidentWork, error) { return nil, nil }

// TestWarmPodsRunNamedCommands: an attempt without a command gets its own pod.
func TestWarmPodsRunNamedCommands(t *testing.T) {
	t.Parallel()
	b := imageSetup(t)
	all := attempts(2)
	silent(all[0], "known:1")
	for _, a := range all {
		a.Resident = true
	}
	queue := &warmQueue{}
	require.NoError(t, kube.NewWarm(b.Client, queue, nil).Start(t.Context(), all))
	require.Equal(t, []string{all[1].GetTaskId()}, queue.all)
	_, own := b.commandOf(all[0], pod.Container)
	require.True(t, own)
	require.False(t, slices.Contains(queue.all, all[0].GetTaskId()))
}
