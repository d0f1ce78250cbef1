package kube_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

func gangs(n, pods int) []launcher.Attempt {
	all := attempts(n)
	for _, a := range all {
		a.Pods = int32(pods)
	}
	return all
}

func (c *fakeAPI) pods(t *testing.T) []corev1.Pod {
	t.Helper()
	list, err := c.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

func TestGangIsMadeAsAWhole(t *testing.T) {
	t.Parallel()
	cluster, all := newFakeAPI(), gangs(3, 4)
	require.NoError(t, cluster.client().Start(t.Context(), all))
	pods := cluster.pods(t)
	require.Len(t, pods, 12)
	for _, a := range all {
		name := pod.Name(a.GetTaskId())
		service, err := cluster.CoreV1().Services(namespace).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		secret, err := cluster.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		require.Len(t, secret.OwnerReferences, 4, "the Secret is deleted with the last pod")
		require.Equal(t, secret.OwnerReferences, service.OwnerReferences)
	}
	// A retry without any state creates nothing again.
	require.NoError(t, cluster.client().Start(t.Context(), all))
	require.Len(t, cluster.pods(t), 12)
	for _, a := range all {
		require.Len(t, cluster.created[a.GetTaskId()], 4)
	}
}

// TestGangThatDoesNotFitKeepsNothing: a quota has room for three of four pods. A partial
// gang would hold resources that another gang needs.
func TestGangThatDoesNotFitKeepsNothing(t *testing.T) {
	t.Parallel()
	cluster, all := newFakeAPI(), gangs(1, 4)
	var room atomic.Int64
	room.Store(3)
	cluster.on("create", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
		if room.Add(-1) >= 0 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(podResource, "p", fmt.Errorf("exceeded quota: flowforge"))
	})
	client := cluster.client()
	var failed *launcher.StartError
	require.ErrorAs(t, client.Start(t.Context(), all), &failed)
	require.Contains(t, failed.Waiting[all[0].GetTaskId()].Message, "exceeded quota")
	require.Empty(t, cluster.pods(t))
	room.Store(4)
	require.NoError(t, client.Start(t.Context(), all))
	require.Len(t, cluster.pods(t), 4)
}

func TestGangThatIsRefusedKeepsNothing(t *testing.T) {
	t.Parallel()
	cluster, all := newFakeAPI(), gangs(1, 4)
	cluster.on("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		p := a.(ktesting.CreateAction).GetObject().(*corev1.Pod)
		return p.Labels[pod.LabelRank] == "2", nil, apierrors.NewForbidden(podResource, p.Name, fmt.Errorf("admission webhook says no"))
	})
	var failed *launcher.StartError
	require.ErrorAs(t, cluster.client().Start(t.Context(), all), &failed)
	require.Equal(t, launcher.ClassRefused, failed.Refused[all[0].GetTaskId()].Class)
	require.Empty(t, cluster.pods(t))
}

// TestGangWithPodsGoingAway waits until the pods of an earlier try are deleted.
func TestGangWithPodsGoingAway(t *testing.T) {
	t.Parallel()
	cluster, all := newFakeAPI(), gangs(1, 2)
	require.NoError(t, cluster.client().Start(t.Context(), all))
	p := cluster.pods(t)[1]
	now := metav1.Now()
	p.DeletionTimestamp, p.Finalizers = &now, []string{"example.org/slow"}
	require.NoError(t, cluster.Tracker().Update(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, &p, namespace))
	var failed *launcher.StartError
	require.ErrorAs(t, cluster.client().Start(t.Context(), all), &failed)
	require.Equal(t, launcher.WaitGang, failed.Waiting[all[0].GetTaskId()].Code)
}

func TestStopOfAGang(t *testing.T) {
	t.Parallel()
	cluster, all := newFakeAPI(), gangs(2, 3)
	client := cluster.client()
	require.NoError(t, client.Start(t.Context(), all))
	require.NoError(t, client.Stop(t.Context(), []launcher.Ref{{TaskID: all[0].GetTaskId(), ProjectID: projectID}}, 0))
	pods := cluster.pods(t)
	require.Len(t, pods, 3)
	for _, p := range pods {
		require.Equal(t, all[1].GetTaskId(), p.Labels[pod.LabelTask])
	}
}

// jobSetCluster is a cluster that has JobSets.
func jobSetCluster() (*fakeAPI, *dynamicfake.FakeDynamicClient, func() *kube.Client) {
	cluster := newFakeAPI()
	version := schema.GroupVersion{Group: pod.JobSetGroup, Version: pod.JobSetVersion}
	cluster.Resources = append(cluster.Resources, &metav1.APIResourceList{
		GroupVersion: version.String(), APIResources: []metav1.APIResource{{Name: pod.JobSetResource, Kind: "JobSet", Namespaced: true}},
	})
	dyn := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{version.WithResource(pod.JobSetResource): "JobSetList"})
	return cluster, dyn, func() *kube.Client {
		return kube.NewFor(kube.Config{
			Installation: "i1", Image: "flowforge:1",
			Projects: func(context.Context) ([]kube.Project, error) {
				return []kube.Project{{ID: projectID, Namespace: namespace}}, nil
			},
		}, cluster.Clientset, dyn)
	}
}

func TestGangAsJobSet(t *testing.T) {
	t.Parallel()
	cluster, dyn, client := jobSetCluster()
	all := append(gangs(2, 4), attempts(3)[2])
	require.NoError(t, client().Start(t.Context(), all))
	require.Len(t, cluster.pods(t), 1, "an attempt with one pod is not a JobSet")
	sets := dyn.Resource(schema.GroupVersionResource{Group: pod.JobSetGroup, Version: pod.JobSetVersion, Resource: pod.JobSetResource}).Namespace(namespace)
	list, err := sets.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 2)
	for _, a := range all[:2] {
		secret, err := cluster.CoreV1().Secrets(namespace).Get(t.Context(), pod.Name(a.GetTaskId()), metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, "JobSet", secret.OwnerReferences[0].Kind)
	}
	require.NoError(t, client().Start(t.Context(), all), "starting twice is success")
	require.NoError(t, client().Stop(t.Context(), []launcher.Ref{{TaskID: all[0].GetTaskId(), ProjectID: projectID}}, 0))
	list, err = sets.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
}

// TestJobSetsAreNotGuessed: a new process cannot determine whether the cluster has
// JobSets. Plain pods would run next to the JobSet of an earlier process.
func TestJobSetsAreNotGuessed(t *testing.T) {
	t.Parallel()
	cluster, _, client := jobSetCluster()
	all := gangs(1, 4)
	require.NoError(t, client().Start(t.Context(), all))
	var unreachable atomic.Bool
	unreachable.Store(true)
	cluster.on("get", "resource", func(ktesting.Action) (bool, runtime.Object, error) {
		return unreachable.Load(), nil, apierrors.NewServiceUnavailable("not now")
	})
	next := client()
	var failed *launcher.StartError
	require.ErrorAs(t, next.Start(t.Context(), all), &failed)
	require.Equal(t, launcher.WaitCluster, failed.Waiting[all[0].GetTaskId()].Code)
	require.Error(t, next.Stop(t.Context(), []launcher.Ref{{TaskID: all[0].GetTaskId(), ProjectID: projectID}}, 0))
	require.Empty(t, cluster.pods(t))
	unreachable.Store(false)
	require.NoError(t, next.Start(t.Context(), all))
	require.Empty(t, cluster.pods(t))
}
