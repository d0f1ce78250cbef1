package identity

import (
	"context"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Sessions returns the sessions of the subject of ctx, most recently used first.
func (s *Service) Sessions(ctx context.Context) ([]auth.Session, error) {
	subject, err := account(ctx)
	if err != nil {
		return nil, err
	}
	return s.cfg.Sessions.List(ctx, subject.ID)
}

// EndSession ends one of the subject's own sessions with effect from its next request.
// It returns apperr.NotFound for any other session.
func (s *Service) EndSession(ctx context.Context, id uuid.UUID) error {
	subject, err := account(ctx)
	if err != nil {
		return err
	}
	return s.change(ctx, func(q *db.Queries) error {
		ended, err := s.cfg.Sessions.EndOf(ctx, q, subject.ID, id)
		if err != nil {
			return err
		}
		if !ended {
			return apperr.New(apperr.NotFound, "There is no such session, or it has already ended.")
		}
		return recordUser(ctx, q, subject.ID, subject.Name, "session.end", map[string]string{"session": id.String()}, nil)
	})
}

// EndAllSessions ends all sessions of the subject, including the current one.
func (s *Service) EndAllSessions(ctx context.Context) error {
	subject, err := account(ctx)
	if err != nil {
		return err
	}
	return s.change(ctx, func(q *db.Queries) error {
		n, err := s.cfg.Sessions.EndAll(ctx, q, subject.ID)
		if err != nil {
			return err
		}
		return recordUser(ctx, q, subject.ID, subject.Name, "session.end_all", map[string]int64{"sessions": n}, nil)
	})
}
