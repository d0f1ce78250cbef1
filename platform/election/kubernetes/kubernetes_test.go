package kubernetes_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	testingapi "k8s.io/client-go/testing"

	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/platform/election"
	"github.com/flowforge/flowforge/platform/election/kubernetes"
)

const patience = 20 * time.Second

// candidacy runs a candidate until the function that it returns is called.
func candidacy(elector election.Elector) (terms <-chan election.Term, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	leads, ended := make(chan election.Term, 4), make(chan struct{})
	go func() {
		defer close(ended)
		_ = elector.Run(ctx, func(ctx context.Context, term election.Term) error {
			leads <- term
			<-ctx.Done()
			return nil
		})
	}()
	return leads, func() {
		cancel()
		<-ended
	}
}

func next(t *testing.T, terms <-chan election.Term) election.Term {
	t.Helper()
	select {
	case term := <-terms:
		return term
	case <-time.After(patience):
		t.Fatal("no candidate was elected")
		return election.Term{}
	}
}

func TestLeaseOfTheCluster(t *testing.T) {
	t.Parallel()
	pool, client := dbtest.New(t), fake.NewClientset()
	elector := func(instance string) election.Elector {
		return kubernetes.New(election.Config{
			Pool: pool, Name: "test", Holder: election.NewHolder(instance), Address: "http://" + instance, Timing: election.Timing{TTL: 2 * time.Second},
		}, client.CoordinationV1(), "ours")
	}
	first, stopFirst := candidacy(elector("a"))
	require.Equal(t, int64(1), next(t, first).Number)
	lease, err := client.CoordinationV1().Leases("ours").Get(t.Context(), "flowforge-test", metav1.GetOptions{})
	require.NoError(t, err)
	require.Contains(t, *lease.Spec.HolderIdentity, "a_")
	leader, err := election.Find(t.Context(), pool, "test")
	require.NoError(t, err)
	require.Equal(t, "http://a", leader.Address)

	second, stopSecond := candidacy(elector("b"))
	defer stopSecond()
	select {
	case <-second:
		t.Fatal("two lead")
	default:
	}
	stopFirst()
	require.Equal(t, int64(2), next(t, second).Number)
	leader, err = election.Find(t.Context(), pool, "test")
	require.NoError(t, err)
	require.Equal(t, "http://b", leader.Address)
}

// A holder that could not renew its Lease, and still comes to its end, does not give
// it back before it has: others wait until it runs out.
func TestLeaseIsNotReleasedWhileItsHolderWorks(t *testing.T) {
	t.Parallel()
	pool, client := dbtest.New(t), fake.NewClientset()
	var refuse, given atomic.Bool
	client.PrependReactor("update", "leases", func(action testingapi.Action) (bool, runtime.Object, error) {
		lease, _ := action.(testingapi.UpdateAction).GetObject().(*coordinationv1.Lease)
		if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
			given.Store(true)
			return false, nil, nil
		}
		return refuse.Load(), nil, errors.New("the API server does not respond")
	})
	elector := kubernetes.New(election.Config{
		Pool: pool, Name: "test", Holder: election.NewHolder("a"), Address: "http://a", Timing: election.Timing{TTL: time.Second},
	}, client.CoordinationV1(), "ours")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	leads, lost, end := make(chan struct{}, 4), make(chan struct{}, 4), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- elector.Run(ctx, func(ctx context.Context, _ election.Term) error {
			leads <- struct{}{}
			<-ctx.Done()
			lost <- struct{}{}
			<-end
			return nil
		})
	}()
	<-leads
	refuse.Store(true)
	<-lost
	require.False(t, given.Load(), "it was given back although its holder works")
	refuse.Store(false)
	close(end)
	<-leads // after its own Lease has run out
	cancel()
	require.NoError(t, <-ended)
	require.True(t, given.Load(), "at its end it is")
}
