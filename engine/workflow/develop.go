package workflow

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Development is the version of a workflow that a user develops.
type Development struct {
	Name    string // of the workflow
	Version string
	SavedAt time.Time
}

// Develop makes a version the one that the caller develops. The version can be a release:
// files that equal it need no other version.
func (s *Service) Develop(ctx context.Context, ref, version string) (Development, error) {
	subject, err := auth.SignedIn(ctx)
	if err != nil {
		return Development{}, err
	}
	row, err := s.find(ctx, db.New(s.pool), auth.WorkflowWrite, ref)
	if err != nil {
		return Development{}, err
	}
	at := s.now().UTC().Truncate(time.Microsecond)
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		head, err := q.WorkflowVersionHead(ctx, row.ID, version)
		if err == nil {
			_, err = q.HoldWorkflowVersion(ctx, head.ID) // a sweep may be removing it
		}
		if err != nil {
			return err
		}
		return q.SetDevelopmentVersion(ctx, row.ID, subject.ID, head.ID, at)
	})
	if db.IsNoRows(err) {
		return Development{}, apperr.New(apperr.NotFound, "The workflow %s has no version %s; register it first.", row.Name, shorten(version, 60))
	}
	if err != nil {
		return Development{}, fmt.Errorf("develop version %s of workflow %s: %w", version, row.ID, err)
	}
	return Development{Name: row.Name, Version: version, SavedAt: at}, nil
}

// Developed returns the version that the caller develops, or a NotFound error that describes how to
// begin.
func (s *Service) Developed(ctx context.Context, ref string) (Development, error) {
	subject, err := auth.SignedIn(ctx)
	if err != nil {
		return Development{}, err
	}
	q := db.New(s.pool)
	row, err := s.find(ctx, q, auth.WorkflowRead, ref)
	if err != nil {
		return Development{}, err
	}
	found, err := q.DevelopmentVersion(ctx, row.ID, subject.ID)
	if db.IsNoRows(err) {
		return Development{}, apperr.New(apperr.NotFound, "You have no development version of %s. Run flowforge dev with the file of the workflow.", row.Name)
	}
	if err != nil {
		return Development{}, fmt.Errorf("development version of workflow %s: %w", row.ID, err)
	}
	return Development{Name: row.Name, Version: found.Version, SavedAt: found.SavedAt.UTC()}, nil
}

// HoldVersion prevents the removal of a version until the transaction of q ends. It returns
// NotFound if the version was removed.
func HoldVersion(ctx context.Context, q *db.Queries, v Version) error {
	if !isDevelopment(v.Version) {
		return nil // releases are never removed
	}
	_, err := q.HoldWorkflowVersion(ctx, v.ID)
	if db.IsNoRows(err) {
		return apperr.New(apperr.NotFound, "The development version %s of %s was removed because it was not used for a long time. Register it again.", v.Version, v.Name)
	}
	if err != nil {
		return fmt.Errorf("hold version %s of %s: %w", v.Version, v.Name, err)
	}
	return nil
}
