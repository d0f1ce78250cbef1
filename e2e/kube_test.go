package e2e

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flowforge/flowforge/compute/launcher/kube/kubetest"
	"github.com/flowforge/flowforge/platform/freeport"
)

// onCluster starts a server with its own settings, whose attempts are pods of a real
// node.
func onCluster(t *testing.T, environ ...string) (*server, *kubetest.Cluster) {
	t.Helper()
	c := kubetest.WithNode(t)
	address := freeport.AddressOn(t, kubetest.Host)
	return ownServer(t, append(environ,
		"FLOWFORGE_LAUNCHER=kube", "FLOWFORGE_KUBE_CONFIG="+c.Kubeconfig, "FLOWFORGE_KUBE_NAMESPACE_PREFIX="+c.Prefix,
		"FLOWFORGE_KUBE_IMAGE="+kubetest.Image, "FLOWFORGE_KUBE_TASK_IMAGE="+kubetest.TaskImage, "FLOWFORGE_KUBE_IMAGE_TIMEOUT=5s",
		"FLOWFORGE_TASK_ADDR="+address, "FLOWFORGE_TASK_URL=http://"+address)...), c
}

// podsOf returns the existing pods of an execution.
func podsOf(t *testing.T, c *kubetest.Cluster, execution string) []corev1.Pod {
	t.Helper()
	return c.Pods(t, "flowforge.io/execution-id="+execution)
}

// withoutPods waits until the cluster has no pods of an execution.
func withoutPods(t *testing.T, c *kubetest.Cluster, execution string) {
	t.Helper()
	eventually(t, "no pod outlives its execution", func() (string, bool) {
		var names []string
		for _, p := range podsOf(t, c, execution) {
			names = append(names, p.Name+" "+string(p.Status.Phase))
		}
		return strings.Join(names, ", "), len(names) == 0
	})
}

// TestDigitsInPods: the training of the browser's form runs in pods on a real node. Its
// log and its curve are live, like those of a local process, and its model is stored.
func TestDigitsInPods(t *testing.T) {
	t.Parallel()
	s, c := onCluster(t)
	page := openOn(t, s, options{})
	visit(t, page, "/workflows")
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Launch digits.train"}))
	fill(t, input(page, "epochs"), "25")
	id := launchNow(t, page)
	eventually(t, "a pod of the node load on the real node", func() (string, bool) {
		for _, p := range podsOf(t, c, id) {
			return p.Name, p.Spec.NodeName == kubetest.Node && len(p.Spec.InitContainers) == 1
		}
		return "no pod", false
	})
	s.wait(t, id, runs("train"))
	watchGraph(t, page, "load", "split", "train", "evaluate", "report")
	visible(t, headState(page, "SUCCEEDED"))
	require.Equal(t, 1, navigations(t, page), "the page was reloaded")
	downloadModel(t, s, page, id)
	withoutPods(t, c, id)
}

const podStories = `{"name": "stories.NAME", "version": "1.0.0", "operators": [{"name": "work", RETRY"type": "TYPE", "code": {IMAGE"script": "SCRIPT"}, "resources": {"cpu": "100m", "memory": "64Mi"RESOURCES}}]}`

// podStory registers a workflow of one operator.
func (s *server) podStory(t *testing.T, name string, parts ...string) string {
	t.Helper()
	document := strings.NewReplacer(append([]string{"NAME", name}, parts...)...).Replace(podStories)
	document = strings.NewReplacer("IMAGE", "", "RETRY", "", "RESOURCES", "", "TYPE", "shell", "SCRIPT", "true").Replace(document)
	s.api(t, http.MethodPost, "/workflows", rawJSON(document), nil)
	return "stories." + name
}

// runs returns a condition: a node of the execution has started.
func runs(operator string) func(executionView) bool {
	return func(e executionView) bool {
		for _, n := range e.Nodes {
			if n.Operator == operator {
				return n.Status == "RUNNING"
			}
		}
		return false
	}
}

func first(e executionView, status string) bool {
	return len(e.Nodes) == 1 && e.Nodes[0].Status == status
}

var fakeGPU = regexp.MustCompile(`GPU-FAKE-\d+`)

// devicesOf returns the GPUs that a task reports.
func devicesOf(t *testing.T, s *server, page playwright.Page, id string) (devices []string) {
	t.Helper()
	eventually(t, "the task reports its GPUs", func() (string, bool) {
		log := strings.Join(s.logOf(t, page, id), "\n")
		devices = fakeGPU.FindAllString(log, -1)
		return log, len(devices) > 0
	})
	return devices
}

// TestGPUsOfPods: two tasks have their own GPUs; a third waits for GPUs and shows it,
// until some are free.
func TestGPUsOfPods(t *testing.T) {
	t.Parallel()
	s, c := onCluster(t)
	workflow := s.podStory(t, "gpus", "SCRIPT", `echo devices $NVIDIA_VISIBLE_DEVICES; ls /dev/nvidia?; while [ ! -e /tmp/end ]; do sleep 0.2; done`,
		"RESOURCES", `, "gpu": 2, "gpu_type": "`+kubetest.GPUType+`"`)
	ids := []string{s.launch(t, workflow, nil), s.launch(t, workflow, nil)}
	page := openOn(t, s, options{})
	devices := map[string]string{}
	for _, id := range ids {
		s.wait(t, id, func(e executionView) bool { return first(e, "RUNNING") })
		for _, device := range devicesOf(t, s, page, id) {
			require.Empty(t, devices[device], "%s has two owners", device)
			devices[device] = id
		}
	}
	require.Len(t, devices, kubetest.NodeGPUs)

	third := s.launch(t, workflow, nil)
	visit(t, page, "/executions/"+third)
	holds(t, page.Locator("main"), kubetest.GPUType+" GPUs")
	s.api(t, http.MethodPost, "/executions/"+ids[0]+"/cancel", map[string]any{"reason": "preempted by other work"}, nil)
	s.wait(t, third, func(e executionView) bool { return first(e, "RUNNING") })
	for _, id := range []string{ids[1], third} { // the devices are free for the next test
		s.api(t, http.MethodPost, "/executions/"+id+"/cancel", map[string]any{"reason": "seen enough"}, nil)
	}
	for _, id := range append(ids, third) {
		withoutPods(t, c, id)
	}
}

// TestCancelDeletesPods: cancelling deletes the pod and keeps its log.
func TestCancelDeletesPods(t *testing.T) {
	t.Parallel()
	s, c := onCluster(t)
	id := s.launch(t, s.podStory(t, "cancelled", "SCRIPT", "echo here I am; sleep 600"), nil)
	s.wait(t, id, func(e executionView) bool { return first(e, "RUNNING") })
	page := openOn(t, s, options{})
	visit(t, page, "/executions/"+id)
	holds(t, page.Locator("#logs .log"), "here I am")
	require.Len(t, podsOf(t, c, id), 1)
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Cancel…"}))
	fill(t, page.GetByLabel("Reason"), "seen enough")
	click(t, button(page, "Cancel the execution"))
	visible(t, headState(page, "CANCELLED"))
	withoutPods(t, c, id)
	holds(t, page.Locator("#logs .log"), "here I am")
}

// TestMemoryGrowsAfterOutOfMemory: a task that is killed at its memory limit shows it,
// and its next attempt has more memory.
func TestMemoryGrowsAfterOutOfMemory(t *testing.T) {
	t.Parallel()
	s, c := onCluster(t)
	id := s.launch(t, s.podStory(t, "hungry", "TYPE", "python", "SCRIPT", `food = bytearray(150 << 20)\nfor i in range(0, len(food), 4096): food[i] = 1\nprint('full')`,
		"RETRY", `"retry": {"limit": 2, "memory": {"factor": 4, "limit": "1Gi"}}, `), nil)
	e := s.wait(t, id, ended)
	require.Equal(t, "SUCCEEDED", e.Status)
	require.Equal(t, 2, e.Nodes[0].Attempt)
	page := openOn(t, s, options{})
	visit(t, page, "/executions/"+id+"?node=work")
	holds(t, page.Locator("#node .attempt-list"), "memory")
	holds(t, page.Locator("#events"), "256 MiB after the previous attempt ran out of memory")
	withoutPods(t, c, id)
}

// TestImageThatDoesNotExist: a missing image ends the attempt with the cluster's own
// message.
func TestImageThatDoesNotExist(t *testing.T) {
	t.Parallel()
	s, c := onCluster(t)
	id := s.launch(t, s.podStory(t, "imageless", "IMAGE", `"image": "localhost/nowhere:1", `), nil)
	e := s.wait(t, id, ended)
	require.Equal(t, "FAILED", e.Status)
	page := openOn(t, s, options{})
	visit(t, page, "/executions/"+id+"?node=work")
	holds(t, page.Locator("#node"), "localhost/nowhere:1")
	withoutPods(t, c, id)
}

// TestServerKilledWhilePodsRun: the server is killed while a pod trains and restarted;
// the pod has continued and counts once.
func TestServerKilledWhilePodsRun(t *testing.T) {
	t.Parallel()
	s, c := onCluster(t)
	page := openOn(t, s, options{tolerates: whileUnreachable()})
	id := s.launch(t, "digits.train", map[string]any{"epochs": 30})
	s.wait(t, id, runs("train"))
	visit(t, page, "/executions/"+id)
	holds(t, page.Locator("#logs .log"), "epoch 3/30")
	before := podsOf(t, c, id)

	s.kill()
	s.restart(t)

	e := s.wait(t, id, ended)
	require.Equal(t, "SUCCEEDED", e.Status)
	for _, n := range e.Nodes {
		require.Equal(t, 1, n.Attempt, "%s was retried", n.Operator)
	}
	require.NotEmpty(t, before)
	holds(t, page.Locator("#logs .log"), "epoch 30/30")
	wholeLog(t, s.logOf(t, page, id), 30)
	withoutPods(t, c, id)
}
