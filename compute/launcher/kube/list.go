package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// List returns every attempt that has a pod. It reads all pods from the API server's
// cache; use it only for occasional comparisons.
func (c *Client) List(ctx context.Context) ([]launcher.Status, error) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	list, err := c.api.CoreV1().Pods(metav1.NamespaceAll).List(call, metav1.ListOptions{
		LabelSelector: pod.Selector(c.config.Installation) + "," + pod.LabelTask, ResourceVersion: "0",
	})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w: %w", launcher.ErrUnreachable, err)
	}
	at := map[string]int{}
	var statuses []launcher.Status
	for i := range list.Items {
		p := &list.Items[i]
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		task := p.Labels[pod.LabelTask]
		if k, ok := at[task]; ok {
			// A gang has ended when all its pods have.
			statuses[k].Finished = statuses[k].Finished && ended
			continue
		}
		at[task] = len(statuses)
		statuses = append(statuses, launcher.Status{TaskID: task, Finished: ended})
	}
	return statuses, nil
}
