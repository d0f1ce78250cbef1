// Package kubernetes elects leaders with the Lease API of a cluster. The term remains a row
// in Postgres, because it fences writes there.
package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/platform/election"
)

const (
	queryLimit = 3 * time.Second
	retryPause = 200 * time.Millisecond // after a failed term
)

// Elector is an election.Elector on the Lease flowforge-<name> of a namespace.
type Elector struct {
	config    election.Config
	leases    coordinationv1.LeasesGetter
	namespace string
}

// New returns an Elector; call Run to start it.
func New(c election.Config, leases coordinationv1.LeasesGetter, namespace string) *Elector {
	return &Elector{config: c.WithDefaults(), leases: leases, namespace: namespace}
}

// Run implements election.Elector.
func (e *Elector) Run(ctx context.Context, lead election.Lead) error {
	for ctx.Err() == nil {
		if err := e.once(ctx, lead); err != nil && ctx.Err() == nil {
			e.config.Logger.Warn("cannot hold a lease; retrying", "lease", e.config.Name, "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(retryPause):
			}
		}
	}
	return nil
}

// lock is a Lease that is not released while its holder still works: client-go releases
// a Lease at once when it could not renew it in time.
type lock struct {
	resourcelock.Interface

	working atomic.Bool
}

var errWorking = errors.New("the holder still works: the lease expires")

// Update implements resourcelock.Interface.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" && l.working.Load() {
		return errWorking
	}
	return l.Interface.Update(ctx, record)
}

// once is one candidacy and one term. It releases the Lease when lead has returned, not
// when ctx ends.
func (e *Elector) once(ctx context.Context, lead election.Lead) error {
	candidate, resign := context.WithCancel(context.WithoutCancel(ctx))
	defer resign()
	led := make(chan error, 1)
	leading := make(chan struct{})
	lock := &lock{Interface: &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "flowforge-" + e.config.Name},
		Client:    e.leases,
		// Tools show identities without slashes.
		LockConfig: resourcelock.ResourceLockConfig{Identity: strings.ReplaceAll(e.config.Holder, "/", "_")},
	}}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          lock,
		LeaseDuration: e.config.Timing.TTL, RenewDeadline: e.config.Timing.TTL * 3 / 4, RetryPeriod: e.config.Timing.TTL / 8,
		ReleaseOnCancel: true, Name: e.config.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(held context.Context) {
				close(leading)
				lock.working.Store(true)
				err := e.lead(ctx, held, lead)
				lock.working.Store(false)
				led <- err
				resign()
			},
			OnStoppedLeading: func() {},
			OnNewLeader: func(identity string) {
				if identity != strings.ReplaceAll(e.config.Holder, "/", "_") {
					e.config.OnOther()
				}
			},
		},
	})
	if err != nil {
		return fmt.Errorf("make the elector: %w", err)
	}
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-leading: // lead ends with ctx, and then resigns
		default:
			resign()
		}
	})
	defer stop()
	elector.Run(candidate)
	select {
	case <-leading:
		return <-led
	default:
		return nil
	}
}

// lead takes a new term and leads until ctx ends or the Lease is lost.
func (e *Elector) lead(ctx, held context.Context, lead election.Lead) error {
	leading, lose := context.WithCancel(held)
	defer lose()
	defer context.AfterFunc(ctx, lose)()
	q := db.New(e.config.Pool)
	limited, cancel := context.WithTimeout(leading, queryLimit)
	defer cancel()
	row, err := q.TakeTerm(limited, e.config.Name, e.config.Holder, e.config.Address, e.config.Timing.TTL.Seconds())
	if err != nil {
		return fmt.Errorf("take a term: %w", err)
	}
	if row.Former != "" && row.Former != e.config.Holder {
		if _, err := q.EndSessions(limited, row.Former); err != nil {
			return fmt.Errorf("end the sessions of the former holder: %w", err)
		}
	}
	term := election.Term{Name: e.config.Name, Number: row.Term, Holder: e.config.Holder}
	e.config.Logger.Info("took a lease", "lease", term.Name, "term", term.Number)
	renewed := make(chan struct{})
	over, end := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(renewed)
		e.renew(over, term, lose)
	}()
	err = lead(leading, term)
	end()
	<-renewed
	last, done := context.WithTimeout(context.WithoutCancel(ctx), queryLimit)
	defer done()
	if held.Err() == nil {
		err = errors.Join(err, q.EndLease(last, term.Name, term.Holder, term.Number))
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// renew updates the row of the term, by which others find the leader, until ctx ends. A
// later term ends this one.
func (e *Elector) renew(ctx context.Context, term election.Term, lose func()) {
	ticker := time.NewTicker(e.config.Timing.Renew())
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		limited, cancel := context.WithTimeout(ctx, queryLimit)
		n, err := db.New(e.config.Pool).RenewLease(limited, e.config.Timing.TTL.Seconds(), term.Name, term.Holder, term.Number)
		cancel()
		if err == nil && n == 0 {
			lose()
		}
	}
}
