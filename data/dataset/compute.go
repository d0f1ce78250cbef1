package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/typeregistry"
)

// State reports whether a version has statistics.
type State string

// The states. Absent has no row: there is nothing to compute.
const (
	Absent  State = ""
	Waiting State = "waiting"
	Ready   State = "ready"
	Failed  State = "failed"
)

const (
	readTime    = 10 * time.Minute // for the rows of one version
	releaseTime = 5 * time.Second  // to release a claim
	staleAfter  = 20 * time.Minute // a claim of a job that has died
	maxAttempts = 3
	waitingRows = 100 // per run of the periodic job
)

// ProfileArgs requests the statistics of a version.
type ProfileArgs struct {
	EntryID uuid.UUID `json:"entry_id"`
}

// Kind names the job.
func (ProfileArgs) Kind() string { return "profile" }

// WaitingArgs requests the statistics of versions whose own job is gone or never was.
type WaitingArgs struct{}

// Kind names the job.
func (WaitingArgs) Kind() string { return "profiles" }

// queue has the jobs of maintenance, few of which run at the same time.
const queue = "maintenance"

// InsertOpts puts the job among the maintenance.
func (ProfileArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queue, MaxAttempts: maxAttempts}
}

// InsertOpts puts the job among the maintenance.
func (WaitingArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queue, MaxAttempts: 1}
}

// registered requests the statistics of a new version in the transaction that registers it.
func (s *Service) registered(ctx context.Context, tx pgx.Tx, q *db.Queries, e catalogue.Entry) error {
	if e.Kind == typeregistry.KindModel {
		return nil
	}
	// An alias is read before a version of its name is looked for, and pages show both.
	subject, err := auth.SignedIn(ctx)
	if err != nil {
		return err
	}
	switch _, err := q.ResolveDataset(ctx, subject.ProjectID, string(e.Kind), e.Name, e.Version); {
	case err == nil:
		return apperr.New(apperr.Conflict, "%s is an alias of another version of %s. Choose another version, or remove the alias.", e.Version, e.Name)
	case !db.IsNoRows(err):
		return fmt.Errorf("find alias %s of %s: %w", e.Version, e.Name, err)
	}
	if e.Blob == nil {
		return nil
	}
	return s.request(ctx, tx, q, e.ID)
}

func (s *Service) request(ctx context.Context, tx pgx.Tx, q *db.Queries, id uuid.UUID) error {
	if err := q.RequestProfile(ctx, id); err != nil {
		return fmt.Errorf("request statistics: %w", err)
	}
	if _, err := s.enqueuer.InsertTx(ctx, tx, ProfileArgs{EntryID: id}, nil); err != nil {
		return fmt.Errorf("enqueue statistics: %w", err)
	}
	return nil
}

// Refresh computes the statistics of a version again.
func (s *Service) Refresh(ctx context.Context, kind typeregistry.Kind, ref string) error {
	subject, err := auth.Authorize(ctx, auth.CatalogueWrite)
	if err != nil {
		return err
	}
	e, err := s.entry(ctx, kind, ref)
	if err != nil {
		return err
	}
	if e.Blob == nil {
		return apperr.New(apperr.Conflict, "%s is registered without a file, so it has no statistics. Register a version with a file.", e.Ref())
	}
	return db.Tx(ctx, s.Pool, func(tx pgx.Tx, q *db.Queries) error {
		if err := s.request(ctx, tx, q, e.ID); err != nil {
			return err
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "dataset.statistics", Kind: string(e.Kind), ID: e.ID.String(), Name: e.Ref(), TenantID: subject.TenantID, ProjectID: subject.ProjectID,
		})
	})
}

// Compute computes the statistics of a version unless they are there or another job computes them.
// Only jobs call it.
func (s *Service) Compute(ctx context.Context, id uuid.UUID) error {
	now := s.Now()
	claim, err := s.queries.StartProfile(ctx, now, id, now.Add(-staleAfter))
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("claim the statistics of %s: %w", id, err)
	}
	if err := s.compute(ctx, id, int(claim.Attempts)); err != nil {
		return errors.Join(err, s.release(ctx, id))
	}
	return nil
}

// release ends a claim without a result, so that the job can try again. ctx may have ended.
func (s *Service) release(ctx context.Context, id uuid.UUID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	if err := s.queries.ReleaseProfile(ctx, id); err != nil {
		return fmt.Errorf("release the statistics of %s: %w", id, err)
	}
	return nil
}

// compute computes the statistics of a version that were claimed.
func (s *Service) compute(ctx context.Context, id uuid.UUID, attempts int) error {
	if attempts > maxAttempts {
		return s.end(ctx, id, Failed, fmt.Sprintf("The statistics could not be computed in %d attempts.", maxAttempts), nil)
	}
	row, err := s.queries.DatasetEntry(ctx, id)
	if err != nil {
		return fmt.Errorf("entry %s: %w", id, err)
	}
	e, err := catalogue.FromRow(row)
	if err != nil {
		return fmt.Errorf("entry %s: %w", id, err)
	}
	profile, err := s.Artifacts.Profile(auth.AsSystem(ctx), file(e, row.ProjectID), readTime)
	switch {
	case err == nil:
		raw, err := json.Marshal(profile)
		if err != nil {
			return fmt.Errorf("encode the statistics of %s: %w", e.Ref(), err)
		}
		return s.end(ctx, id, Ready, "", raw)
	case apperr.Is(err, apperr.Invalid), apperr.Is(err, apperr.NotFound):
		return s.end(ctx, id, Failed, apperr.MessageOf(err), nil)
	}
	return fmt.Errorf("statistics of %s: %w", e.Ref(), err)
}

func (s *Service) end(ctx context.Context, id uuid.UUID, state State, problem string, profile json.RawMessage) error {
	err := s.queries.EndProfile(ctx, db.EndProfileParams{EntryID: id, State: string(state), Problem: problem, Profile: profile, Now: s.Now()})
	if err != nil {
		return fmt.Errorf("store the statistics of %s: %w", id, err)
	}
	return nil
}

// ComputeWaiting computes statistics that no job computes: of versions that were registered before
// statistics existed, and of jobs that died.
func (s *Service) ComputeWaiting(ctx context.Context) error {
	ids, err := s.queries.WaitingProfiles(ctx, s.Now().Add(-staleAfter), waitingRows)
	if err != nil {
		return fmt.Errorf("list waiting statistics: %w", err)
	}
	var problems error
	for _, id := range ids {
		if ctx.Err() != nil {
			break
		}
		problems = errors.Join(problems, s.Compute(ctx, id))
	}
	return problems
}
