package kube

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/outcome"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

func podOfTask(task string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ff-a", Name: pod.Name(task), UID: "uid-1", Labels: map[string]string{pod.LabelTask: task},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// TestGap: a pod that vanished during a gap in the watch counts as deleted only after a
// live lookup, and an existing one does not.
func TestGap(t *testing.T) {
	t.Parallel()
	gone, there := podOfTask("e.1.1"), podOfTask("e.2.1")
	there.UID = "uid-2"
	again := there.DeepCopy()
	again.UID = "uid-3"
	for name, row := range map[string]struct {
		live []*corev1.Pod
		lost *corev1.Pod
		ends bool
	}{
		"gone":       {nil, gone, true},
		"there":      {[]*corev1.Pod{there}, there, false},
		"made again": {[]*corev1.Pod{again}, there, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := fake.NewClientset()
			for _, p := range row.live {
				if err := api.Tracker().Add(p); err != nil {
					t.Fatal(err)
				}
			}
			c := NewController(ControllerConfig{API: api, Config: Config{Installation: "x"}})
			if err := c.open(); err != nil {
				t.Fatal(err)
			}
			c.onDelete(cache.DeletedFinalStateUnknown{Key: keyOf(row.lost), Obj: row.lost})
			if err := c.evaluate(t.Context(), keyOf(row.lost)); err != nil {
				t.Fatal(err)
			}
			ended := false
			for _, o := range c.reports.take() {
				ended = ended || o.End != nil && o.End.Class == launcher.ClassDeleted
			}
			if ended != row.ends {
				t.Errorf("ended %v, want %v", ended, row.ends)
			}
			if len(c.deletedPods) != 0 {
				t.Errorf("deleted pods are kept: %v", c.deletedPods)
			}
		})
	}
}

// TestReportsSurvive: observations that cannot be stored are sent again, merged with
// newer ones, and one that can never be stored does not block the others.
func TestReportsSurvive(t *testing.T) {
	t.Parallel()
	r := newReports()
	r.pause = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	started := make(chan string, 10)
	refusals := 0
	observe := func(_ context.Context, all []launcher.Observation) error {
		refusals++
		for _, o := range all {
			if o.TaskID == "bad" || refusals < 3 {
				return errors.New("not now")
			}
		}
		for _, o := range all {
			started <- o.TaskID
		}
		return nil
	}
	for _, task := range []string{"bad", "good"} {
		r.put(podOfTask(task), outcome.Verdict{Waiting: &launcher.Waiting{Code: launcher.WaitImage}})
		delete(r.printed, "uid-1")
	}
	go func() { defer close(done); r.flush(ctx, observe, slog.New(slog.DiscardHandler)) }()
	if task := <-started; task != "good" {
		t.Errorf("took %q", task)
	}
	cancel()
	<-done
}

// TestLeases: machines are evaluated by the leases that they renew, using the reader's
// clock, and not during an API outage.
func TestLeases(t *testing.T) {
	t.Parallel()
	var h health
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	h.last = now
	term := int32(10)
	lease := func(renewed time.Time) []coordinationv1.Lease {
		at := metav1.NewMicroTime(renewed)
		return []coordinationv1.Lease{{
			ObjectMeta: metav1.ObjectMeta{Name: "gpu-1"}, Spec: coordinationv1.LeaseSpec{RenewTime: &at, LeaseDurationSeconds: &term},
		}}
	}
	written := now.Add(-time.Hour) // the machine's clock is behind
	h.renewals(lease(written), now)
	if changed := h.decide(now.Add(9*time.Second), time.Second); len(changed) != 0 || h.lostReason("gpu-1") != "" {
		t.Errorf("lost before its lease expired: %v", changed)
	}
	h.renewals(lease(written), now.Add(11*time.Second))
	if changed := h.decide(now.Add(11*time.Second), time.Second); len(changed) != 1 || h.lostReason("gpu-1") == "" {
		t.Error("not lost although its lease expired")
	}
	h.renewals(lease(written.Add(time.Second)), now.Add(12*time.Second))
	if changed := h.decide(now.Add(12*time.Second), time.Second); len(changed) != 1 || h.lostReason("gpu-1") != "" {
		t.Error("lost although it renewed its lease")
	}
	// The API is unreachable for a minute, so no machine could renew its lease.
	h.answered(nil, now.Add(12*time.Second), 0)
	unreachable := errors.New("connection refused")
	if h.answered(unreachable, now.Add(13*time.Second), 20*time.Second) || !h.answered(unreachable, now.Add(20*time.Second), 20*time.Second) || h.unreachableReason() == "" {
		t.Error("the API is not reported as unreachable")
	}
	back := now.Add(80 * time.Second)
	if !h.answered(nil, back, 20*time.Second) || h.unreachableReason() != "" {
		t.Error("the API is not reported as reachable again")
	}
	h.renewals(lease(written.Add(time.Second)), back)
	if changed := h.decide(back, time.Second); len(changed) != 0 {
		t.Errorf("lost because of the API outage: %v", changed)
	}
}
