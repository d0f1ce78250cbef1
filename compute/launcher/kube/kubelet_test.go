package kube_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/compute/launcher/kube/kubetest"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// realPod returns a pod that a real kubelet runs.
func (w *world) realPod(command ...string) *corev1.Pod {
	p := w.pod(nil)
	p.Spec.NodeSelector, p.Spec.Tolerations = nil, nil
	p.Spec.NodeName = kubetest.Node
	p.Spec.InitContainers = nil
	p.Spec.Containers[0].Image, p.Spec.Containers[0].Command = kubetest.TaskImage, command
	p.Spec.Containers[0].ImagePullPolicy = corev1.PullIfNotPresent
	p.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory] = resource.MustParse("64Mi")
	grace := int64(1)
	p.Spec.TerminationGracePeriodSeconds = &grace
	return p
}

// TestOnKubelet ends pods of a real kubelet in every way that it supports.
func TestOnKubelet(t *testing.T) {
	t.Parallel()
	kubetest.WithNode(t)
	w := newWorld(t, func(c *kube.ControllerConfig) {
		c.ImageTimeout, c.StartTimeout = 2*time.Second, 2*time.Second
	})
	w.run()
	deadline := func(p *corev1.Pod) { seconds := int64(1); p.Spec.ActiveDeadlineSeconds = &seconds }
	for name, row := range map[string]struct {
		command []string
		change  func(*corev1.Pod)
		class   launcher.Class
		says    string
	}{
		"no such command": {[]string{"/no/such/command"}, nil, launcher.ClassStart, "/no/such/command"},
		"error":           {[]string{"sh", "-c", "echo boom >&2; exit 7"}, nil, launcher.ClassError, "boom"},
		"out of memory":   {[]string{"python3", "-c", "x = bytearray(512 << 20)"}, nil, launcher.ClassOutOfMemory, "64Mi"},
		"deadline":        {[]string{"sleep", "60"}, deadline, launcher.ClassDeadline, "deadline"},
		"no image": {[]string{"true"}, func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = "localhost/no-such-image:1"
		}, launcher.ClassImage, "localhost/no-such-image:1"},
		"no name of an image": {[]string{"true"}, func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = "Not An Image"
		}, launcher.ClassImage, "Not An Image"},
		"no secret": {[]string{"true"}, func(p *corev1.Pod) {
			p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "nowhere"}}}}
		}, launcher.ClassStart, `secret "nowhere" not found`},
		"init": {[]string{"true"}, func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{*p.Spec.Containers[0].DeepCopy()}
			p.Spec.InitContainers[0].Name, p.Spec.InitContainers[0].Command = "prepare", []string{"sh", "-c", "echo no disk; exit 3"}
		}, launcher.ClassInit, "no disk"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := w.realPod(row.command...)
			if row.change != nil {
				row.change(p)
			}
			task := w.start(p)
			end := w.untilEnd(task, row.class)
			if !strings.Contains(end.Message, row.says) {
				t.Errorf("%q does not say %q", end.Message, row.says)
			}
			w.untilGone(task)
		})
	}
	t.Run("deleted", func(t *testing.T) {
		t.Parallel()
		task := w.start(w.realPod("sleep", "60"))
		w.untilRunning(task)
		if err := w.api.CoreV1().Pods(w.namespace).Delete(t.Context(), pod.Name(task), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.untilEnd(task, launcher.ClassDeleted)
	})
}
