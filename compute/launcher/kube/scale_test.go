package kube_test

import (
	"context"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// TestManyPods starts and ends 2,000 pods: each end is reported once with its class, and
// no pod remains.
func TestManyPods(t *testing.T) {
	if testing.Short() {
		t.Skip("2,000 pods take a while")
	}
	t.Parallel()
	const pods, starters = 2000, 16
	w := newWorld(t).run()
	var group errgroup.Group
	group.SetLimit(starters)
	tasks := make([]string, pods)
	for i := range tasks {
		annotations := map[string]string{"exit-code": "1"}
		if i%10 == 0 {
			annotations = map[string]string{"exit-code": "137", "reason": "OOMKilled"}
		}
		p := w.pod(annotations)
		tasks[i] = p.Labels[pod.LabelTask]
		group.Go(func() error {
			_, err := w.api.CoreV1().Pods(w.namespace).Create(context.Background(), p, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, task := range tasks {
		class := launcher.ClassError
		if i%10 == 0 {
			class = launcher.ClassOutOfMemory
		}
		w.untilEnd(task, class)
	}
	w.poll("the end of all pods", func(ctx context.Context) bool {
		list, err := w.api.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		return err == nil && !slices.ContainsFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp == nil })
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, task := range tasks {
		ends := 0
		for _, what := range w.history[task] {
			if what == string(launcher.ClassError) || what == string(launcher.ClassOutOfMemory) {
				ends++
			}
		}
		if ends != 1 {
			t.Errorf("%s ended %d times: %v", task, ends, w.history[task])
		}
	}
}
