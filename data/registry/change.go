package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/db"
)

// change is a change of a model in its transaction.
type change struct {
	service *Service
	q       *db.Queries
	subject auth.Subject
	entry   catalogue.Entry
}

// change makes a change of a version, alone among the changes of its model.
func (s *Service) change(ctx context.Context, subject auth.Subject, e catalogue.Entry, do func(c *change) error) error {
	return db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := q.LockModel(ctx, subject.ProjectID.String()+" "+e.Name); err != nil {
			return err
		}
		return do(&change{s, q, subject, e})
	})
}

// note writes the history and the audit log.
func (c *change) note(ctx context.Context, e catalogue.Entry, action, detail, reason string, before, after any) error {
	return c.noteStage(ctx, e, nil, action, detail, reason, before, after)
}

// noteStage writes the history and the audit log of a change that moved an entry to stage; nil for other
// changes.
func (c *change) noteStage(ctx context.Context, e catalogue.Entry, stage *string, action, detail, reason string, before, after any) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make event id: %w", err)
	}
	err = c.q.InsertModelHistory(ctx, db.InsertModelHistoryParams{
		ID: id, ProjectID: c.subject.ProjectID, Name: e.Name, EntryID: e.ID, Version: e.Version, Action: action, Detail: detail,
		Reason: reason, ByName: c.subject.Name, At: c.service.now(), Stage: stage,
	})
	if err != nil {
		return fmt.Errorf("write the history of %s: %w", e.Name, err)
	}
	return audit.Record(ctx, c.q, audit.Entry{
		Action: "model." + action, Kind: "model", ID: e.ID.String(), Name: e.Ref(), TenantID: c.subject.TenantID, ProjectID: c.subject.ProjectID,
		Old: before, New: after,
	})
}

func invalid(path, message string) error {
	return apperr.InvalidFields("The change to the model has invalid values.", []apperr.Field{{Path: path, Message: message}})
}

func checkReason(reason string, required bool) (string, error) {
	reason = strings.TrimSpace(reason)
	switch {
	case reason == "" && required:
		return "", invalid("reason", "Enter a reason. It is recorded in the history.")
	case utf8.RuneCountInString(reason) > maxReason:
		return "", invalid("reason", fmt.Sprintf("At most %d characters.", maxReason))
	}
	return reason, nil
}

// Move moves a version to a stage. A move to production needs a reason; if the policy requires
// approval, it becomes a request, which Move returns. The version that was in production is archived.
// It is Conflict for a version that has the stage or an open request.
func (s *Service) Move(ctx context.Context, name, version string, to Stage, reason string) (*Request, error) {
	subject, err := auth.Authorize(ctx, auth.CatalogueWrite)
	if err != nil {
		return nil, err
	}
	e, err := s.find(ctx, name, version)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(Stages(), to) {
		return nil, invalid("stage", "Choose none, staging, production or archived.")
	}
	if reason, err = checkReason(reason, to == Production); err != nil {
		return nil, err
	}
	var made *Request
	err = s.change(ctx, subject, e, func(c *change) error {
		policy, err := s.policy(ctx, c.q, subject.ProjectID, name)
		if err != nil {
			return err
		}
		current, err := c.q.StageOf(ctx, e.ID)
		if err != nil {
			return err
		}
		if Stage(current) == to {
			return apperr.New(apperr.Conflict, "%s is already in the stage %s.", e.Ref(), to)
		}
		// Leaving production is a decision about production, too.
		if policy.Approval && (to == Production || Stage(current) == Production) {
			made, err = c.request(ctx, to, reason, policy, false)
			return err
		}
		return c.move(ctx, to, reason, "")
	})
	if err != nil {
		return nil, fmt.Errorf("move %s %s: %w", name, version, err)
	}
	return made, nil
}

// move changes the stage of the version; approved names who decided about a request.
func (c *change) move(ctx context.Context, to Stage, reason, approved string) error {
	now := c.service.now()
	before, err := c.q.StageOf(ctx, c.entry.ID)
	if err != nil {
		return err
	}
	if to == Production {
		old, err := c.service.inProduction(ctx, c.q, c.subject.ProjectID, c.entry.Name)
		if err != nil {
			return err
		}
		if old != nil && old.ID != c.entry.ID {
			err = c.q.SetModelStage(ctx, db.SetModelStageParams{
				EntryID: old.ID, ProjectID: c.subject.ProjectID, Name: old.Name, Stage: string(Archived), ChangedBy: c.subject.Name, ChangedAt: now,
			})
			if err != nil {
				return fmt.Errorf("archive %s: %w", old.Ref(), err)
			}
			if err := c.q.CloseModelRequests(ctx, c.subject.Name, now, old.ID); err != nil {
				return err
			}
			if err := c.noteStage(ctx, old.Entry, new(string(Archived)), "archived", "replaced by "+c.entry.Version, "", map[string]any{"stage": Production}, map[string]any{"stage": Archived}); err != nil {
				return err
			}
		}
	}
	if to == None {
		err = c.q.UnsetModelStage(ctx, c.entry.ID)
	} else {
		err = c.q.SetModelStage(ctx, db.SetModelStageParams{
			EntryID: c.entry.ID, ProjectID: c.subject.ProjectID, Name: c.entry.Name, Stage: string(to), ChangedBy: c.subject.Name, ChangedAt: now,
		})
	}
	if err != nil {
		return err
	}
	if err := c.q.CloseModelRequests(ctx, c.subject.Name, now, c.entry.ID); err != nil {
		return err
	}
	return c.noteStage(ctx, c.entry, new(string(to)), "moved", fmt.Sprintf("from %s to %s%s", before, to, approved), reason, map[string]any{"stage": before}, map[string]any{"stage": to, "reason": reason})
}

// request requests a move.
func (c *change) request(ctx context.Context, to Stage, reason string, policy Policy, proposed bool) (*Request, error) {
	var checks []Check
	if to == Production {
		current, err := c.service.inProduction(ctx, c.q, c.subject.ProjectID, c.entry.Name)
		if err != nil {
			return nil, err
		}
		var entry *catalogue.Entry
		if current != nil {
			entry = &current.Entry
		}
		checks = Judge(policy.Rules, c.entry, entry)
	}
	if checks == nil {
		checks = []Check{}
	}
	raw, err := json.Marshal(checks)
	if err != nil {
		return nil, fmt.Errorf("encode checks: %w", err)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("make request id: %w", err)
	}
	now := c.service.now()
	err = c.q.InsertModelRequest(ctx, db.InsertModelRequestParams{
		ID: id, EntryID: c.entry.ID, ProjectID: c.subject.ProjectID, Name: c.entry.Name, Stage: string(to), Reason: reason, Proposed: proposed,
		Checks: raw, RequestedBy: c.subject.ID, RequestedByName: c.subject.Name, RequestedAt: now,
	})
	if db.Constraint(err) == "model_requests_open_key" {
		return nil, apperr.New(apperr.Conflict, "%s already has an open request. Decide or withdraw it first.", c.entry.Ref())
	}
	if err != nil {
		return nil, err
	}
	detail := "for " + string(to)
	if proposed {
		detail += ", proposed by the project's rules"
	}
	err = c.note(ctx, c.entry, "requested", detail, reason, nil, map[string]any{"stage": to, "reason": reason, "proposed": proposed})
	return &Request{ID: id, Version: c.entry.Version, Stage: to, State: "open", Reason: reason, Proposed: proposed, Checks: checks, By: c.subject.Name, At: now, Mine: true}, err
}

// Decision is what someone decides about a request.
type Decision string

// The decisions. The person who asked can only withdraw.
const (
	Approve  Decision = "approve"
	Reject   Decision = "reject"
	Withdraw Decision = "withdraw"
)

// Decide decides about an open request. Another person than the one who asked approves or rejects.
func (s *Service) Decide(ctx context.Context, id uuid.UUID, d Decision, reason string) error {
	if _, err := auth.SignedIn(ctx); err != nil {
		return err
	}
	missing := apperr.New(apperr.NotFound, "There is no request %s.", id)
	row, err := s.queries.GetModelRequest(ctx, id)
	if db.IsNoRows(err) {
		return missing
	}
	if err != nil {
		return fmt.Errorf("get request %s: %w", id, err)
	}
	subject, err := auth.AuthorizeIn(ctx, auth.CatalogueWrite, row.ProjectID, missing)
	if err != nil {
		return err
	}
	if reason, err = checkReason(reason, d == Reject); err != nil {
		return err
	}
	mine := subject.ID == row.RequestedBy
	switch {
	case d != Approve && d != Reject && d != Withdraw:
		return invalid("decision", "Choose approve, reject or withdraw.")
	case mine && d != Withdraw:
		return apperr.New(apperr.Forbidden, "You made this request, so another person must decide.")
	case !mine && d == Withdraw:
		return apperr.New(apperr.Forbidden, "Only %s can withdraw this request. You can reject it.", row.RequestedByName)
	}
	version, err := s.queries.ModelVersion(ctx, row.EntryID, row.ProjectID)
	if err != nil {
		return fmt.Errorf("version of request %s: %w", id, err)
	}
	e, err := catalogue.FromRow(version.CatalogueEntry)
	if err != nil {
		return fmt.Errorf("version of request %s: %w", id, err)
	}
	subject.ProjectID = row.ProjectID
	err = s.change(ctx, subject, e, func(c *change) error { return c.decide(ctx, row, d, reason) })
	if err != nil {
		return fmt.Errorf("decide request %s: %w", id, err)
	}
	return nil
}

func (c *change) decide(ctx context.Context, row db.GetModelRequestRow, d Decision, reason string) error {
	states := map[Decision]string{Approve: "approved", Reject: "rejected", Withdraw: "withdrawn"}
	n, err := c.q.DecideModelRequest(ctx, db.DecideModelRequestParams{
		ID: row.ID, State: states[d], DecidedByName: c.subject.Name, DecidedAt: c.service.now(), Decision: reason,
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return apperr.New(apperr.Conflict, "The request is no longer open.")
	}
	if err := c.note(ctx, c.entry, states[d], "the request for "+row.Stage, reason, nil, map[string]any{"request": row.ID, "stage": row.Stage, "reason": reason}); err != nil || d != Approve {
		return err
	}
	return c.move(ctx, Stage(row.Stage), row.Reason, ", approved by "+c.subject.Name)
}

// aliasPattern is the form of aliases: that of versions, beginning with a letter.
var aliasPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]{0,59}$`)

// SetAlias makes alias a name of a version. It moves the alias if another version has it.
func (s *Service) SetAlias(ctx context.Context, name, alias, version string) error {
	subject, err := auth.Authorize(ctx, auth.CatalogueWrite)
	if err != nil {
		return err
	}
	if !aliasPattern.MatchString(alias) {
		return invalid("alias", "Start with a letter; then letters, digits and . _ - are allowed, 60 characters at most.")
	}
	if alias == "latest" || slices.Contains(Stages(), Stage(alias)) {
		return invalid("alias", alias+" is reserved. Choose another name.")
	}
	e, err := s.find(ctx, name, version)
	if err != nil {
		return err
	}
	if _, err := s.queries.GetCatalogueEntry(ctx, subject.ProjectID, "Model", name, alias); err == nil {
		return invalid("alias", "A version already has this name. Choose another name.")
	} else if !db.IsNoRows(err) {
		return fmt.Errorf("find version %s: %w", alias, err)
	}
	return s.change(ctx, subject, e, func(c *change) error {
		err := c.q.SetModelAlias(ctx, db.SetModelAliasParams{
			ProjectID: subject.ProjectID, Name: name, Alias: alias, EntryID: e.ID, SetBy: subject.Name, SetAt: s.now(),
		})
		if err != nil {
			return fmt.Errorf("set alias %s of %s: %w", alias, name, err)
		}
		return c.note(ctx, e, "alias_set", alias, "", nil, map[string]any{"alias": alias})
	})
}

// RemoveAlias ends an alias.
func (s *Service) RemoveAlias(ctx context.Context, name, alias string) error {
	subject, err := auth.Authorize(ctx, auth.CatalogueWrite)
	if err != nil {
		return err
	}
	return s.change(ctx, subject, catalogue.Entry{Name: name}, func(c *change) error {
		id, err := c.q.UnsetModelAlias(ctx, subject.ProjectID, name, alias)
		if db.IsNoRows(err) {
			return apperr.New(apperr.NotFound, "The model %s has no alias %q.", name, alias)
		}
		if err != nil {
			return fmt.Errorf("remove alias %s of %s: %w", alias, name, err)
		}
		row, err := c.q.ModelVersion(ctx, id, subject.ProjectID)
		if err != nil {
			return err
		}
		e, err := catalogue.FromRow(row.CatalogueEntry)
		if err != nil {
			return err
		}
		return c.note(ctx, e, "alias_removed", alias, "", map[string]any{"alias": alias}, nil)
	})
}
