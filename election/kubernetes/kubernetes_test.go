package kubernetes_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/election"
	"github.com/flowforge/flowforge/election/kubernetes"
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
		t.Fatal("nobody leads")
		return election.Term{}
	}
}

func TestLeaseOfTheCluster(t *testing.T) {
	t.Parallel()
	pool, client := dbtest.New(t), fake.NewClientset()
	elector := func(instance string) election.Elector {
		return kubernetes.New(election.Config{
			Pool: pool, Name: "test", Holder: election.NewHolder(instance), Address: "http://" + instance, Timing: election.Timing{TTL: 2 * time.Second},
		}, client, "ours")
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
