package outcome_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/outcome"
	kubepod "github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// The pods of these tests were created at noon and are evaluated a minute later.
var (
	noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	then = noon.Add(time.Minute)
)

func config() outcome.Config {
	return outcome.Config{ImageTimeout: 5 * time.Minute, StartTimeout: 2 * time.Minute}
}

// pod returns a pod on a machine, with changes.
func pod(changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ff-vision-0190", Name: "ff-e-1-1", CreationTimestamp: metav1.NewTime(noon)},
		Spec: corev1.PodSpec{
			NodeName:       "gpu-7",
			InitContainers: []corev1.Container{{Name: "flowforge"}},
			Containers: []corev1.Container{{
				Name:      "task",
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")}},
			}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func phase(phase corev1.PodPhase, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = phase, reason, message
	}
}

func condition(kind corev1.PodConditionType, value corev1.ConditionStatus, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: kind, Status: value, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(noon),
		})
	}
}

func waits(container, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		s := corev1.ContainerStatus{Name: container, Image: "registry.test/train:1", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
		}}
		if container == "task" {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, s)
			return
		}
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, s)
	}
}

func ends(container string, code int32, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		s := corev1.ContainerStatus{Name: container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: reason, Message: message,
			StartedAt: metav1.NewTime(noon.Add(time.Second)), FinishedAt: metav1.NewTime(noon.Add(30 * time.Second)),
		}}}
		if container == "task" {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, s)
			return
		}
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, s)
	}
}

func runs(container string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		s := corev1.ContainerStatus{Name: container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon)}}}
		if container == "task" {
			p.Status.Phase = corev1.PodRunning
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, s)
			return
		}
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, s)
	}
}

func deleted(p *corev1.Pod) {
	at := metav1.NewTime(noon.Add(20 * time.Second))
	p.DeletionTimestamp = &at
}

func unplaced(p *corev1.Pod) { p.Spec.NodeName = "" }

func sidecar(p *corev1.Pod) {
	always := corev1.ContainerRestartPolicyAlways
	p.Spec.InitContainers[0].RestartPolicy = &always
}

const unschedulable = "0/4 nodes are available: 4 Insufficient nvidia.com/gpu."

// verdicts maps pods to expected verdicts: "wait CODE", "end class", or "" for none.
func verdicts() map[string]struct {
	pod  outcome.Pod
	want string
	says string // part of the sentence
	log  string
} {
	type row = struct {
		pod  outcome.Pod
		want string
		says string
		log  string
	}
	of := func(changes ...func(*corev1.Pod)) outcome.Pod { return outcome.Pod{Object: pod(changes...)} }
	with := func(p outcome.Pod, change func(*outcome.Pod)) outcome.Pod { change(&p); return p }
	disrupted := func(reason string) outcome.Pod {
		return of(phase(corev1.PodFailed, "", ""), condition(corev1.DisruptionTarget, corev1.ConditionTrue, reason, "said by the cluster"), ends("task", 143, "Error", ""))
	}
	gone := func(p *outcome.Pod) { p.Gone = true }
	return map[string]row{
		"the scheduler has not looked":  {of(unplaced), "wait POD_STARTING", "scheduler", ""},
		"unschedulable":                 {of(unplaced, condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable", unschedulable)), "wait UNSCHEDULABLE", unschedulable, ""},
		"held back":                     {of(unplaced, condition(corev1.PodScheduled, corev1.ConditionFalse, "SchedulingGated", "")), "wait GANG", "all pods", ""},
		"containers are created":        {of(waits("flowforge", "PodInitializing", ""), waits("task", "PodInitializing", "")), "wait POD_STARTING", "being created", ""},
		"a volume is missing":           {with(of(waits("task", "ContainerCreating", "")), func(p *outcome.Pod) { p.Warning = `secret "s" not found` }), "wait POD_STARTING", `secret "s" not found`, ""},
		"an init container runs":        {of(runs("flowforge"), waits("task", "PodInitializing", "")), "wait POD_STARTING", `"flowforge" is running`, ""},
		"an image is pulled":            {of(ends("flowforge", 0, "Completed", ""), waits("task", "ImagePullBackOff", "manifest unknown")), "wait IMAGE_PULL", "manifest unknown", ""},
		"no name of an image":           {of(waits("task", "InvalidImageName", "couldn't parse image name")), "end image", "couldn't parse image name", ""},
		"a Secret is missing":           {of(waits("task", "CreateContainerConfigError", `secret "key" not found`)), "wait POD_STARTING", `secret "key" not found`, ""},
		"running":                       {of(ends("flowforge", 0, "Completed", ""), runs("task")), "wait POD_STARTING", "its runner is preparing", ""},
		"terminating, task runs":        {of(runs("task"), deleted), "", "", ""},
		"reported":                      {of(phase(corev1.PodSucceeded, "", ""), ends("task", 0, "Completed", `{"reported":true,"outcome":"succeeded"}`)), "", "", ""},
		"reported, then deleted":        {with(of(deleted, ends("task", 0, "Completed", `{"reported":true,"outcome":"succeeded"}`)), gone), "", "", ""},
		"reported, but nothing came":    {with(of(phase(corev1.PodFailed, "", ""), ends("task", 1, "Error", `{"reported":true,"outcome":"failed"}`)), func(p *outcome.Pod) { p.Overdue = true }), "end error", "never received", ""},
		"interrupted and deleted":       {of(deleted, ends("task", 143, "Error", `{"reported":true,"outcome":"interrupted"}`)), "end deleted", "was deleted", ""},
		"interrupted by the scheduler":  {of(deleted, condition(corev1.DisruptionTarget, corev1.ConditionTrue, "PreemptionByScheduler", "by a higher one"), ends("task", 143, "Error", `{"reported":true,"outcome":"interrupted"}`)), "end preempted", "by a higher one", ""},
		"its token is refused":          {of(phase(corev1.PodFailed, "", ""), ends("task", 3, "Error", `{"reported":false,"outcome":"failed","class":"token_expired","message":"The server refuses the token.","exit_code":0}`)), "end token_expired", "refuses the token", ""},
		"out of memory":                 {of(phase(corev1.PodFailed, "", ""), ends("task", 137, "OOMKilled", "")), "end out_of_memory", "512Mi", ""},
		"out of memory, then deleted":   {with(of(deleted, ends("task", 137, "OOMKilled", "")), gone), "end out_of_memory", "memory limit", ""},
		"out of memory in an init":      {of(phase(corev1.PodFailed, "", ""), ends("flowforge", 137, "OOMKilled", "")), "end out_of_memory", `"flowforge"`, ""},
		"an init container fails":       {of(phase(corev1.PodFailed, "", ""), ends("flowforge", 2, "Error", "no space left")), "end init_failed", "code 2: no space left", "flowforge"},
		"a sidecar ends":                {of(sidecar, ends("flowforge", 2, "Error", ""), runs("task")), "wait POD_STARTING", "its runner is preparing", ""},
		"no such command":               {of(phase(corev1.PodFailed, "", ""), ends("task", 128, "StartError", `exec: "pythn": executable file not found in $PATH`)), "end start_failed", "executable file not found", ""},
		"ended without its runner":      {of(phase(corev1.PodFailed, "", ""), ends("task", 1, "Error", "")), "end error", "code 1", "task"},
		"killed from outside":           {of(phase(corev1.PodFailed, "", ""), ends("task", 137, "Error", "")), "end error", "code 137", "task"},
		"evicted":                       {of(phase(corev1.PodFailed, "Evicted", "The node was low on resource: memory."), runs("task"), phase(corev1.PodFailed, "Evicted", "The node was low on resource: memory.")), "end evicted", "low on resource: memory", ""},
		"longer than its deadline":      {of(phase(corev1.PodFailed, "DeadlineExceeded", "Pod was active on the node longer than the specified deadline")), "end timeout", "longer than the specified deadline", ""},
		"a critical pod needs room":     {of(phase(corev1.PodFailed, "Preempting", "Preempted in order to admit critical pod")), "end preempted", "critical pod", ""},
		"preempted by the scheduler":    {disrupted("PreemptionByScheduler"), "end preempted", "said by the cluster", ""},
		"removed from a tainted node":   {disrupted("DeletionByTaintManager"), "end node_lost", "gpu-7 is lost", ""},
		"removed by garbage collection": {disrupted("DeletionByPodGC"), "end node_lost", "said by the cluster", ""},
		"drained":                       {disrupted("EvictionByEvictionAPI"), "end evicted", "said by the cluster", ""},
		"ended by the kubelet":          {disrupted("TerminationByKubelet"), "end evicted", "said by the cluster", ""},
		"its machine is silent":         {with(of(runs("task")), func(p *outcome.Pod) { p.MachineLost = "the kubelet stopped posting" }), "end node_lost", "stopped posting", ""},
		"its machine shut down":         {of(phase(corev1.PodFailed, "NodeShutdown", "")), "end node_lost", "shut down", ""},
		"no room on the machine":        {of(phase(corev1.PodFailed, "OutOfnvidia.com/gpu", "Node didn't have enough resource: nvidia.com/gpu")), "end evicted", "enough resource", ""},
		"a device is broken":            {of(phase(corev1.PodFailed, "UnexpectedAdmissionError", "no healthy devices present")), "end evicted", "no healthy devices", ""},
		"deleted":                       {with(of(runs("task")), gone), "end deleted", "was deleted", ""},
		"deleted before it was placed":  {with(of(unplaced), gone), "end deleted", "was deleted", ""},
		"deleted, its container ended":  {of(deleted, ends("task", 143, "Error", "")), "end deleted", "was deleted", ""},
		"its namespace goes":            {with(of(deleted, ends("task", 137, "Error", "")), func(p *outcome.Pod) { p.NamespaceGoing = true }), "end namespace", "ff-vision-0190", ""},
		"failed without a reason":       {of(phase(corev1.PodFailed, "", "")), "end start_failed", "gave no reason", ""},
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for name, row := range verdicts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := outcome.Of(row.pod, config(), then)
			got, message := "", ""
			switch {
			case v.End != nil:
				got, message = "end "+string(v.End.Class), v.End.Message
				if v.End.FinishedAt.IsZero() || v.Waiting != nil {
					t.Errorf("an end without a time, or one that waits: %+v", v)
				}
			case v.Waiting != nil:
				got, message = "wait "+v.Waiting.Code, v.Waiting.Message
			}
			if got != row.want || !strings.Contains(message, row.says) || v.Log != row.log {
				t.Errorf("got %q %q log %q, want %q with %q and log %q", got, message, v.Log, row.want, row.says, row.log)
			}
			if v.Location == nil || v.Location.Pod != "ff-e-1-1" {
				t.Errorf("place %+v", v.Location)
			}
		})
	}
}

// TestPatience: a recoverable problem waits, schedules the next evaluation, and ends the
// attempt after its timeout.
func TestPatience(t *testing.T) {
	t.Parallel()
	c := config()
	c.PendingTimeout = time.Hour
	for name, row := range map[string]struct {
		pod   *corev1.Pod
		limit time.Duration
		class launcher.Class
	}{
		"image":  {pod(waits("task", "ErrImagePull", "denied")), c.ImageTimeout, launcher.ClassImage},
		"secret": {pod(waits("task", "CreateContainerConfigError", "no secret")), c.StartTimeout, launcher.ClassStart},
		"room":   {pod(unplaced, condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable", unschedulable)), c.PendingTimeout, launcher.ClassStart},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			early := outcome.Of(outcome.Pod{Object: row.pod}, c, noon)
			if early.End != nil || early.Waiting == nil || !early.Again.Equal(noon.Add(row.limit)) {
				t.Fatalf("at once: %+v", early)
			}
			late := outcome.Of(outcome.Pod{Object: row.pod}, c, early.Again)
			if late.End == nil || late.End.Class != row.class || late.Waiting != nil {
				t.Fatalf("in the end: %+v", late)
			}
		})
	}
}

// TestExitCode: a container's own exit code and times are kept.
func TestExitCode(t *testing.T) {
	t.Parallel()
	v := outcome.Of(outcome.Pod{Object: pod(phase(corev1.PodFailed, "", ""), ends("task", 137, "OOMKilled", ""))}, config(), then)
	if v.End.ExitCode == nil || *v.End.ExitCode != 137 || !v.End.FinishedAt.Equal(noon.Add(30*time.Second)) ||
		v.End.StartedAt == nil || !v.End.StartedAt.Equal(noon.Add(time.Second)) {
		t.Errorf("%+v", v.End)
	}
}

// TestMemberThatCannotBegin: the task waits for the other containers, so a container that
// can never start ends the attempt.
func TestMemberThatCannotBegin(t *testing.T) {
	t.Parallel()
	p := pod(phase(corev1.PodRunning, "", ""), runs("task"), func(p *corev1.Pod) {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: "a", Image: "nowhere:1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "not found"}},
		})
	})
	v := outcome.Of(outcome.Pod{Object: p}, config(), then)
	if v.End != nil || v.Waiting == nil || v.Waiting.Code != launcher.WaitImage {
		t.Fatalf("%+v", v)
	}
	v = outcome.Of(outcome.Pod{Object: p}, config(), noon.Add(time.Hour))
	if v.End == nil || v.End.Class != launcher.ClassImage {
		t.Fatalf("%+v", v)
	}
}

// TestServing: a serving pod is reported while the cluster reports it as ready.
func TestServing(t *testing.T) {
	t.Parallel()
	serves := func(p *corev1.Pod) { p.Labels = map[string]string{kubepod.LabelServes: "true"} }
	address := func(p *corev1.Pod) { p.Status.PodIP = "10.1.2.3" }
	ready := condition(corev1.PodReady, corev1.ConditionTrue, "", "")
	running := phase(corev1.PodRunning, "", "")
	for name, row := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"ready":              {pod(serves, address, running, runs("task"), ready), true},
		"not ready yet":      {pod(serves, address, running, runs("task"), condition(corev1.PodReady, corev1.ConditionFalse, "ContainersNotReady", "")), false},
		"without an address": {pod(serves, running, runs("task"), ready), false},
		"no server":          {pod(address, running, runs("task"), ready), false},
		"over":               {pod(serves, address, phase(corev1.PodFailed, "", ""), ends("task", 1, "Error", ""), ready), false},
		"being deleted":      {pod(serves, address, running, runs("task"), ready, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: noon} }), false},
	} {
		v := outcome.Of(outcome.Pod{Object: row.pod}, config(), then)
		if got := v.Serving != nil && v.Serving.Address == "10.1.2.3"; got != row.want {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
