package quota

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// Reader returns what people see of limits, use and the queue. Its methods authorize the
// caller first, and hide what the caller may not see.
type Reader struct {
	pool *pgxpool.Pool
	fair *fair.Scheduler
	now  func() time.Time
}

// authorize authorizes action at node, or, for uuid.Nil, anywhere in the tree: the
// administrator of a tenant without projects may already set its limits.
func (rd *Reader) authorize(ctx context.Context, action auth.Action, node uuid.UUID) (auth.Subject, error) {
	if node != uuid.Nil {
		return auth.AuthorizeIn(ctx, action, node, absent(node))
	}
	subject, err := auth.Authorize(ctx, action)
	if err == nil {
		return subject, nil
	}
	subject, _ = auth.SubjectOf(ctx) // the zero Subject has no permissions
	for _, l := range rd.fair.Tree().Levels() {
		if subject.May(action, l.ID) {
			return subject, nil
		}
	}
	return auth.Subject{}, err
}

// authorizeMember authorizes a subject who may read limits at id or at a project below it. It
// returns whether the subject may read all of it.
func (rd *Reader) authorizeMember(ctx context.Context, id uuid.UUID) (subject auth.Subject, whole bool, err error) {
	subject, err = auth.AuthorizeIn(ctx, auth.QuotaRead, id, absent(id))
	if err == nil {
		return subject, true, nil
	}
	subject, ok := auth.SubjectOf(ctx)
	if !ok {
		return auth.Subject{}, false, err
	}
	for _, l := range rd.fair.Tree().Levels() {
		if l.Kind == "project" && subject.May(auth.QuotaRead, l.ID) && slices.Contains(rd.fair.Tree().Path(l.ID), id) && l.Parent == id {
			return subject, false, nil
		}
	}
	return auth.Subject{}, false, err
}

func absent(id uuid.UUID) error {
	return apperr.New(apperr.NotFound, "There is no tenant, department, team or project %s.", id)
}
