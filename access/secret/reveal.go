package secret

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Exists reports whether the subject's current project has a secret, so that a launch
// may reference it. The error is a lookup that failed, and so tells nothing.
func (s *Service) Exists(ctx context.Context, name string) (bool, error) {
	subject, err := auth.Authorize(ctx, auth.SecretRead)
	if err != nil || !ValidName(name) {
		return false, nil //nolint:nilerr // for who may not read secrets, there are none
	}
	if row, err := s.queries.GetSecret(ctx, subject.ProjectID, name); err == nil && row.Store != nil {
		return true, nil // a launch does not wait for the store; the attempt reads the value
	}
	_, err = s.value(ctx, subject.ProjectID, name, recently)
	if apperr.Is(err, apperr.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// Reveal returns the value of a project's secret. Only the engine may call it, to pass
// the value to the attempt that references it; for all other subjects, including
// administrators, it returns apperr.Forbidden. A value of a secret store can be some seconds old.
func (s *Service) Reveal(ctx context.Context, project uuid.UUID, name string) (string, error) {
	if err := engineOnly(ctx); err != nil {
		return "", err
	}
	return s.value(ctx, project, name, recently)
}

// NoteUse records that an execution of a workflow received the secrets. The engine
// calls it.
func (s *Service) NoteUse(ctx context.Context, project uuid.UUID, workflow string, execution uuid.UUID, names []string) error {
	if _, err := auth.Authorize(ctx, auth.TaskReport); err != nil {
		return err
	}
	err := s.queries.NoteSecretUse(ctx, db.NoteSecretUseParams{
		ProjectID: project, Names: names, Workflow: workflow, ExecutionID: execution, Now: s.now(),
	})
	if err != nil {
		return fmt.Errorf("store the use of secrets: %w", err)
	}
	return nil
}

// NoteDatastoreUse records that the server used the secrets for the datastore of Metaflow of a
// project. The server calls it before each use.
func (s *Service) NoteDatastoreUse(ctx context.Context, project uuid.UUID, names []string) error {
	return s.NoteUse(ctx, project, "", uuid.Nil, names)
}

// value looks up a secret in the database and then in the providers. A value of a secret store can be
// as old as maxAge.
func (s *Service) value(ctx context.Context, project uuid.UUID, name string, maxAge time.Duration) (string, error) {
	if !ValidName(name) {
		return "", absent(name)
	}
	row, err := s.queries.GetSecret(ctx, project, name)
	if err == nil && row.Store != nil {
		return s.resolve(ctx, project, name, *referenceOf(row), maxAge)
	}
	if err == nil {
		value, err := s.keys.Open(*row.KeyID, Owner{TenantID: row.TenantID, ProjectID: row.ProjectID}, row.Name, row.Sealed)
		if err != nil {
			return "", apperr.Wrap(apperr.Unavailable, err, fmt.Sprintf("The secret %q cannot be decrypted: its encryption key is not on this server. Enter its value again.", name))
		}
		return value, nil
	}
	if !db.IsNoRows(err) {
		return "", fmt.Errorf("get secret %s: %w", name, err)
	}
	place, err := s.owner(ctx, project)
	if err != nil {
		return "", err
	}
	for _, provider := range s.providers {
		value, err := provider.Value(ctx, place, name)
		if errors.Is(err, ErrAbsent) {
			continue
		}
		if err != nil {
			return "", apperr.Wrap(apperr.Unavailable, err, fmt.Sprintf("The secret %q cannot be read from %s.", name, provider.Label()))
		}
		return value, nil
	}
	return "", absent(name)
}

// owner returns the namespace of a project; an unknown project has no secret files.
func (s *Service) owner(ctx context.Context, project uuid.UUID) (Owner, error) {
	row, err := s.queries.GetProjectNames(ctx, project)
	if db.IsNoRows(err) {
		return Owner{}, apperr.New(apperr.NotFound, "There is no project %s.", project)
	}
	if err != nil {
		return Owner{}, fmt.Errorf("project %s: %w", project, err)
	}
	place := Owner{ProjectID: project}
	if row.TenantID != nil {
		place.TenantID = *row.TenantID
	}
	if row.Namespace != nil {
		place.Namespace = *row.Namespace
	}
	return place, nil
}

// Reseal reseals all values of older keys with the current one and returns their
// number. The server calls it at startup; values whose key is missing are unchanged.
func (s *Service) Reseal(ctx context.Context) (int, error) {
	if _, err := auth.Authorize(ctx, auth.Administer); err != nil {
		return 0, err
	}
	resealed := 0
	err := db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		rows, err := q.ListSecretsOfOtherKeys(ctx, &s.keys.current, maxReseal)
		if err != nil {
			return err
		}
		for _, row := range rows {
			place := Owner{TenantID: row.TenantID, ProjectID: row.ProjectID}
			value, err := s.keys.Open(*row.KeyID, place, row.Name, row.Sealed)
			if errors.Is(err, ErrKeyMissing) {
				continue
			}
			if err != nil {
				return err
			}
			if err := q.ResealSecret(ctx, &s.keys.current, s.keys.Seal(place, row.Name, value), row.ProjectID, row.Name); err != nil {
				return err
			}
			resealed++
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("reseal secrets: %w", err)
	}
	return resealed, nil
}

const maxReseal = 100_000
