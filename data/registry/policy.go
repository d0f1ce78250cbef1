package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/typeregistry"
)

// SetPolicy sets what promotions of a model to production need; name "" is for all models of the
// project without a policy of their own. Administrators of the team may set it.
func (s *Service) SetPolicy(ctx context.Context, name string, p Policy) error {
	subject, err := auth.Authorize(ctx, auth.WorkflowArchive) // who administers the team
	if err != nil {
		return err
	}
	if name != "" {
		if _, err := s.catalogue.Get(ctx, typeregistry.KindModel, name); err != nil {
			return err
		}
	}
	if err := checkRules(p.Rules); err != nil {
		return err
	}
	if p.Rules == nil {
		p.Rules = []Rule{}
	}
	rules, err := json.Marshal(p.Rules)
	if err != nil {
		return fmt.Errorf("encode rules: %w", err)
	}
	return db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		before, err := s.policy(ctx, q, subject.ProjectID, name)
		if err != nil {
			return err
		}
		err = q.SetModelPolicy(ctx, db.SetModelPolicyParams{
			ProjectID: subject.ProjectID, Name: name, Approval: p.Approval, Propose: p.Propose, Rules: rules, UpdatedBy: subject.Name, UpdatedAt: s.now(),
		})
		if err != nil {
			return fmt.Errorf("set the policy of %q: %w", name, err)
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "model.policy", Kind: "model", ID: subject.ProjectID.String(), Name: name, TenantID: subject.TenantID, ProjectID: subject.ProjectID, Old: before, New: p,
		})
	})
}

// ProjectPolicy returns the policy of the models that have none of their own, and whether the caller
// may set it.
func (s *Service) ProjectPolicy(ctx context.Context) (p Policy, may bool, err error) {
	subject, err := auth.Authorize(ctx, auth.CatalogueRead)
	if err != nil {
		return Policy{}, false, err
	}
	p, err = s.policy(ctx, s.queries, subject.ProjectID, "")
	return p, subject.May(auth.WorkflowArchive, subject.ProjectID), err
}

// MadeBy returns the execution that made the artifact of a version; uuid.Nil if the version names no
// artifact, or the artifact is gone.
func (s *Service) MadeBy(ctx context.Context, e catalogue.Entry) (uuid.UUID, error) {
	subject, err := auth.Authorize(ctx, auth.CatalogueRead)
	if err != nil || e.From == nil {
		return uuid.Nil, err
	}
	row, err := s.queries.GetArtifact(ctx, *e.From)
	if db.IsNoRows(err) || err == nil && row.ProjectID != subject.ProjectID {
		return uuid.Nil, nil
	}
	if err != nil {
		return uuid.Nil, fmt.Errorf("artifact of %s: %w", e.Ref(), err)
	}
	return row.ExecutionID, nil
}

func checkRules(rules []Rule) error {
	var fields []apperr.Field
	add := func(i int, name, message string) {
		fields = append(fields, apperr.Field{Path: fmt.Sprintf("rules[%d].%s", i, name), Message: message})
	}
	if len(rules) > maxRules {
		fields = append(fields, apperr.Field{Path: "rules", Message: fmt.Sprintf("At most %d rules.", maxRules)})
	}
	for i, r := range rules {
		if r.Metric == "" || utf8.RuneCountInString(r.Metric) > 200 {
			add(i, "metric", "Enter the name of a metric, 200 characters at most.")
		}
		if r.Better != Higher && r.Better != Lower {
			add(i, "better", "Choose higher or lower.")
		}
		if r.Margin < 0 {
			add(i, "margin", "Enter 0 or more.")
		}
	}
	return apperr.InvalidFields("The policy has invalid values.", fields)
}

// Register registers a version of a model in the catalogue. If the policy says so and all rules pass,
// the version is proposed for production.
func (s *Service) Register(ctx context.Context, e catalogue.Entry) (catalogue.Entry, bool, error) {
	subject, err := auth.Authorize(ctx, auth.CatalogueWrite)
	if err != nil {
		return e, false, err
	}
	e, created, err := s.catalogue.Register(ctx, e)
	if err != nil || !created {
		return e, created, err
	}
	err = s.change(ctx, subject, e, func(c *change) error {
		if err := c.note(ctx, e, "registered", "", "", nil, nil); err != nil {
			return err
		}
		return c.propose(ctx)
	})
	if err != nil {
		return e, true, fmt.Errorf("propose %s: %w", e.Ref(), err)
	}
	return e, true, nil
}

// propose requests production if the rules say so.
func (c *change) propose(ctx context.Context) error {
	policy, err := c.service.policy(ctx, c.q, c.subject.ProjectID, c.entry.Name)
	if err != nil || !policy.Propose {
		return err
	}
	current, err := c.service.inProduction(ctx, c.q, c.subject.ProjectID, c.entry.Name)
	if err != nil {
		return err
	}
	var entry *catalogue.Entry
	if current != nil {
		entry = &current.Entry
	}
	if !passed(Judge(policy.Rules, c.entry, entry)) {
		return nil
	}
	_, err = c.request(ctx, Production, "All rules for promotion passed.", policy, true)
	return err
}
