package kube_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ktesting "k8s.io/client-go/testing"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

func TestRefusalsAreOfOneAttempt(t *testing.T) {
	t.Parallel()
	cluster, all := newFakeAPI(), attempts(4)
	all[3].PodJson = `{"nodeSelektor":{}}`
	all[2].PodJson = `{"podSpecPatch":"hostNetwork: true"}`
	cluster.on("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		p := a.(ktesting.CreateAction).GetObject().(*corev1.Pod)
		if p.Labels[pod.LabelTask] != all[1].GetTaskId() {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(podResource, p.Name, fmt.Errorf("violates PodSecurity \"restricted:latest\": host namespaces"))
	})
	err := cluster.client().Start(t.Context(), all)
	var failed *launcher.StartError
	require.ErrorAs(t, err, &failed)
	require.NoError(t, failed.Err)
	require.Len(t, failed.Refused, 3)
	require.Equal(t, launcher.ClassRefused, failed.Refused[all[1].GetTaskId()].Class)
	require.Contains(t, failed.Refused[all[1].GetTaskId()].Message, `violates PodSecurity "restricted:latest"`)
	require.Equal(t, launcher.ClassRefused, failed.Refused[all[2].GetTaskId()].Class)
	require.Contains(t, failed.Refused[all[2].GetTaskId()].Message, "host namespaces")
	require.Equal(t, launcher.ClassStart, failed.Refused[all[3].GetTaskId()].Class)
	require.Contains(t, failed.Refused[all[3].GetTaskId()].Message, "nodeSelektor")
	cluster.oneEach(t, all[:1])
}

func TestFullNamespaceWaits(t *testing.T) {
	t.Parallel()
	cluster, all := newFakeAPI(), attempts(1)
	var full atomic.Bool
	full.Store(true)
	cluster.on("create", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
		return full.Load(), nil, apierrors.NewForbidden(podResource, "p", fmt.Errorf("exceeded quota: flowforge, requested: requests.cpu=1"))
	})
	client := cluster.client()
	err := client.Start(t.Context(), all)
	var failed *launcher.StartError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, launcher.ErrUnreachable)
	require.Contains(t, failed.Waiting[all[0].GetTaskId()].Message, "requests.cpu=1")
	full.Store(false)
	require.NoError(t, client.Start(t.Context(), all))
}

func TestForeignPodOfTheSameName(t *testing.T) {
	t.Parallel()
	cluster, all := newFakeAPI(), attempts(1)
	_, err := cluster.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name(all[0].GetTaskId()), Namespace: namespace},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	var failed *launcher.StartError
	require.ErrorAs(t, cluster.client().Start(t.Context(), all), &failed)
	require.Contains(t, failed.Refused[all[0].GetTaskId()].Message, "does not belong to FlowForge")
}

func TestMissingNamespaceIsPrepared(t *testing.T) {
	t.Parallel()
	cluster, all := newFakeAPI(), attempts(20)
	var there atomic.Bool
	cluster.on("create", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
		return !there.Load(), nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, namespace)
	})
	without := cluster.client()
	var failed *launcher.StartError
	require.ErrorAs(t, without.Start(t.Context(), all), &failed)
	require.Equal(t, launcher.WaitStarting, failed.Waiting[all[0].GetTaskId()].Code)

	client := cluster.client()
	client.PrepareWith(func(_ context.Context, p kube.Project) error {
		require.Equal(t, namespace, p.Namespace)
		there.Store(true)
		return nil
	})
	require.NoError(t, client.Start(t.Context(), all))
	cluster.oneEach(t, all)
}

func TestUnknownProject(t *testing.T) {
	t.Parallel()
	all := attempts(1)
	all[0].ProjectId = "01900000-0000-7000-8000-00000000ffff"
	var failed *launcher.StartError
	require.ErrorAs(t, newFakeAPI().client().Start(t.Context(), all), &failed)
	require.Equal(t, launcher.ClassNamespace, failed.Refused[all[0].GetTaskId()].Class)
}

func TestStopDeletesWithGrace(t *testing.T) {
	t.Parallel()
	cluster, all := newFakeAPI(), attempts(3)
	client := cluster.client()
	require.NoError(t, client.Start(t.Context(), all))
	var mu sync.Mutex
	grace := map[string]*int64{}
	cluster.on("delete", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		d := a.(ktesting.DeleteActionImpl)
		mu.Lock()
		defer mu.Unlock()
		grace[d.Name] = d.DeleteOptions.GracePeriodSeconds
		return false, nil, nil
	})
	require.NoError(t, client.Stop(t.Context(), []launcher.Ref{
		{TaskID: all[0].GetTaskId(), ProjectID: projectID}, {TaskID: all[1].GetTaskId(), ProjectID: projectID, Preempt: true},
	}, 10*time.Second))
	require.NoError(t, client.Stop(t.Context(), []launcher.Ref{{TaskID: all[2].GetTaskId()}}, time.Second))
	require.Equal(t, new(int64(25)), grace[pod.Name(all[0].GetTaskId())])
	require.Nil(t, grace[pod.Name(all[1].GetTaskId())], "a preempted attempt uses its pod's own grace period")
	require.Equal(t, new(int64(16)), grace[pod.Name(all[2].GetTaskId())], "found without its project")
	statuses, err := client.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, statuses)
	require.NoError(t, client.Stop(t.Context(), []launcher.Ref{{TaskID: all[0].GetTaskId(), ProjectID: projectID}}, 0), "stopping twice does no harm")
}

func TestStopAndListReportAnUnreachableCluster(t *testing.T) {
	t.Parallel()
	cluster, all := newFakeAPI(), attempts(1)
	cluster.on("*", "pods", fails(context.DeadlineExceeded))
	client := cluster.client()
	require.ErrorIs(t, client.Start(t.Context(), all), launcher.ErrUnreachable)
	require.ErrorIs(t, client.Stop(t.Context(), []launcher.Ref{{TaskID: all[0].GetTaskId(), ProjectID: projectID}}, 0), launcher.ErrUnreachable)
	_, err := client.List(t.Context())
	require.ErrorIs(t, err, launcher.ErrUnreachable)
}

func TestListReportsEndedAttempts(t *testing.T) {
	t.Parallel()
	cluster, all := newFakeAPI(), attempts(2)
	all[1].Pods = 2
	client := cluster.client()
	require.NoError(t, client.Start(t.Context(), all))
	end := func(name string) {
		p, err := cluster.CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		p.Status.Phase = corev1.PodSucceeded
		_, err = cluster.CoreV1().Pods(namespace).UpdateStatus(t.Context(), p, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	end(pod.Name(all[0].GetTaskId()))
	end(pod.RankName(pod.Name(all[1].GetTaskId()), 0))
	statuses, err := client.List(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []launcher.Status{{TaskID: all[0].GetTaskId(), Finished: true}, {TaskID: all[1].GetTaskId()}}, statuses)
}

// TestStopOfWhatIsGoneListsNothing stops attempts whose pods no longer exist, or never
// existed.
func TestStopOfWhatIsGoneListsNothing(t *testing.T) {
	t.Parallel()
	cluster, all := newFakeAPI(), attempts(20)
	client := cluster.client()
	cluster.on("list", "*", func(a ktesting.Action) (bool, runtime.Object, error) {
		t.Errorf("%s was listed", a.GetResource().Resource)
		return false, nil, nil
	})
	refs := make([]launcher.Ref, len(all))
	for i, a := range all {
		refs[i] = launcher.Ref{TaskID: a.GetTaskId(), ProjectID: projectID}
	}
	require.NoError(t, client.Stop(t.Context(), refs, time.Second))
}

// TestServiceAccountThatIsNotThere distinguishes a missing account of an operator from
// that of a namespace that is being created.
func TestServiceAccountThatIsNotThere(t *testing.T) {
	t.Parallel()
	cluster, all := newFakeAPI(), attempts(2)
	all[0].PodJson = `{"serviceAccountName":"trainer"}`
	cluster.on("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		p := a.(ktesting.CreateAction).GetObject().(*corev1.Pod)
		return true, nil, apierrors.NewForbidden(podResource, p.Name,
			fmt.Errorf("error looking up service account %s/%s: serviceaccount not found", namespace, p.Spec.ServiceAccountName))
	})
	var failed *launcher.StartError
	require.ErrorAs(t, cluster.client().Start(t.Context(), all), &failed)
	require.Equal(t, launcher.ClassRefused, failed.Refused[all[0].GetTaskId()].Class)
	require.Contains(t, failed.Refused[all[0].GetTaskId()].Message, `"trainer"`)
	require.Equal(t, launcher.WaitStarting, failed.Waiting[all[1].GetTaskId()].Code)
}
