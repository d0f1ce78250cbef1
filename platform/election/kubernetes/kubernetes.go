// Package kubernetes holds leases by the Lease API of a cluster. The term stays a row
// in Postgres, because it fences what is written there.
package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/platform/election"
)

const (
	queryLimit = 3 * time.Second
	retryPause = 200 * time.Millisecond // after a time of leading that failed
)

// Elector is an election.Elector on the Lease flowforge-<name> of a namespace.
type Elector struct {
	config    election.Config
	client    kubernetes.Interface
	namespace string
}

// New returns an Elector that does nothing before Run.
func New(c election.Config, client kubernetes.Interface, namespace string) *Elector {
	return &Elector{config: c.WithDefaults(), client: client, namespace: namespace}
}

// Run is election.Elector's.
func (e *Elector) Run(ctx context.Context, lead election.Lead) error {
	for ctx.Err() == nil {
		if err := e.once(ctx, lead); err != nil && ctx.Err() == nil {
			e.config.Logger.Warn("a lease cannot be held; trying again", "lease", e.config.Name, "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(retryPause):
			}
		}
	}
	return nil
}

// lock is a Lease that is not given back while its holder still works: client-go gives
// back at once what it could not renew in time.
type lock struct {
	resourcelock.Interface

	working atomic.Bool
}

var errWorking = errors.New("the holder still works: the lease runs out by itself")

// Update is resourcelock.Interface's.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" && l.working.Load() {
		return errWorking
	}
	return l.Interface.Update(ctx, record)
}

// once is one candidacy, and one time of leading. The Lease is given back when lead has
// come to its end, and not when ctx has.
func (e *Elector) once(ctx context.Context, lead election.Lead) error {
	candidate, resign := context.WithCancel(context.WithoutCancel(ctx))
	defer resign()
	led := make(chan error, 1)
	leading := make(chan struct{})
	lock := &lock{Interface: &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "flowforge-" + e.config.Name},
		Client:    e.client.CoordinationV1(),
		// A slash is no part of an identity that tools show.
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
		case <-leading: // lead ends by ctx itself, and resigns then
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

// renew keeps the row of the term fresh, by which others find the leader, until ctx
// ends. A later term ends this one.
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
