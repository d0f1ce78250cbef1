package workflow

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
)

// Register checks a definition and stores it as a version. The same content returns the
// existing version and created=false; different content under an existing version is a
// Conflict; an invalid document is Invalid with every problem and its path. The first
// version creates the workflow.
func (s *Service) Register(ctx context.Context, doc []byte) (version Version, created bool, err error) {
	subject, err := auth.Authorize(ctx, auth.WorkflowWrite)
	if err != nil {
		return Version{}, false, err
	}
	d, schedules, err := s.check(ctx, doc)
	if err != nil {
		return Version{}, false, err
	}
	plans, problems := d.Compile()
	if len(problems) > 0 {
		return Version{}, false, invalid(problems)
	}
	r, err := newRegistration(d, plans[""], subject, s.now())
	if err != nil {
		return Version{}, false, err
	}
	r.schedules = schedules
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error { return r.store(ctx, q) })
	if err != nil {
		return Version{}, false, err
	}
	version, err = s.versionByID(ctx, r.id)
	return version, r.created, err
}

func invalid(problems []apperr.Field) error {
	message := "The definition has 1 problem."
	if len(problems) > 1 {
		message = fmt.Sprintf("The definition has %d problems.", len(problems))
	}
	return apperr.InvalidFields(message, problems)
}

// checkPackages checks that every code package is in the store.
func (s *Service) checkPackages(ctx context.Context, d *Definition) ([]apperr.Field, error) {
	p := &problems{}
	known := map[string]bool{"": true}
	for path, op := range d.EveryOperator() {
		name := op.Code.Package
		if known[name] {
			continue
		}
		known[name] = true
		path += ".code.package"
		sha, isHash := strings.CutPrefix(name, packagePrefix)
		if !isHash {
			p.add(path, "The folder %q was not uploaded. Use flowforge apply -f, which packs and uploads it.", shorten(name, 100))
			continue
		}
		if s.packages == nil {
			continue
		}
		has, err := s.packages.Has(ctx, sha)
		if err != nil {
			return nil, fmt.Errorf("code package %s: %w", sha, err)
		}
		if !has {
			p.add(path, "The package %s is not in the store; upload it first.", name)
		}
	}
	return p.fields(), nil
}

// checkPods returns the problems of the pod fields of the operators.
func (s *Service) checkPods(d *Definition) []apperr.Field {
	p := &problems{}
	for path, op := range d.EveryOperator() {
		if s.checkPod == nil || len(op.Pod) == 0 {
			continue
		}
		err := s.checkPod(op.podWithoutTags())
		if err == nil {
			continue
		}
		if op.CodeAt != "" { // the document has it at the template
			path = op.CodeAt[:strings.LastIndex(op.CodeAt, ".")]
		} else {
			path += ".pod"
		}
		fields := apperr.FieldsOf(err)
		for _, f := range fields {
			p.add(strings.TrimSuffix(path+"."+f.Path, "."), "%s", f.Message)
		}
		if len(fields) == 0 {
			p.add(path, "%s", sentence(err.Error()))
		}
	}
	return p.fields()
}

// registration is one attempt to store a version.
type registration struct {
	definition *Definition
	release    release
	document   []byte
	hash       []byte
	plan       []byte
	nodes      int32
	subject    auth.Subject
	at         time.Time

	schedules WriteSchedules

	id      uuid.UUID // of the version, set by store
	created bool
}

// release is the version number in columns.
type release struct {
	major, minor, patch int64
	prerelease          string
}

func newRegistration(d *Definition, plan *dag.Plan, subject auth.Subject, now time.Time) (*registration, error) {
	document, hash, err := d.Canonical()
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(plan)
	if err != nil {
		return nil, fmt.Errorf("plan of %s: %w", d.Name, err)
	}
	return &registration{
		definition: d, document: document, hash: hash[:], plan: encoded, subject: subject,
		nodes: int32(min(len(plan.Nodes), MaxOperators)),
		at:    now.UTC().Truncate(time.Microsecond),
	}, nil
}

func (r *registration) store(ctx context.Context, q *db.Queries) error {
	d := r.definition
	workflowID, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("workflow id: %w", err)
	}
	w, err := q.EnsureWorkflow(ctx, db.EnsureWorkflowParams{
		ID: workflowID, ProjectID: r.subject.ProjectID, Name: d.Name, OwnerTeam: d.OwnerTeam, At: r.at,
	})
	if err != nil {
		return fmt.Errorf("workflow %s: %w", d.Name, err)
	}
	if err := r.number(ctx, q, w); err != nil {
		return err
	}
	head, err := q.WorkflowVersionHead(ctx, w.ID, d.Version)
	switch {
	case err == nil && bytes.Equal(head.ContentHash, r.hash):
		r.id = head.ID
		return r.schedule(ctx, q, w.ID)
	case err == nil:
		return apperr.New(apperr.Conflict, "Version %s of %s already exists with different content. Versions are immutable: register the new content under a higher version.", d.Version, d.Name)
	case !db.IsNoRows(err):
		return fmt.Errorf("version %s of %s: %w", d.Version, d.Name, err)
	}
	if err := r.insert(ctx, q, w); err != nil {
		return err
	}
	return r.schedule(ctx, q, w.ID)
}

// schedule writes the schedules of the definition, if this is the latest version and a release.
func (r *registration) schedule(ctx context.Context, q *db.Queries, workflow uuid.UUID) error {
	if isDevelopment(r.definition.Version) {
		return nil
	}
	w, err := q.WorkflowByID(ctx, workflow)
	if err != nil {
		return fmt.Errorf("workflow %s: %w", workflow, err)
	}
	if w.LatestVersionID == nil || *w.LatestVersionID != r.id {
		return nil
	}
	return r.schedules(ctx, q, w)
}

func (r *registration) insert(ctx context.Context, q *db.Queries, w db.Workflow) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("version id: %w", err)
	}
	d := r.definition
	if err := q.InsertWorkflowVersion(ctx, db.InsertWorkflowVersionParams{
		ID: id, WorkflowID: w.ID, Version: d.Version,
		Major: r.release.major, Minor: r.release.minor, Patch: r.release.patch, Prerelease: r.release.prerelease,
		Definition: r.document, Plan: r.plan, ContentHash: r.hash, NodeCount: r.nodes,
		CreatedBy: r.subject.ID, CreatedAt: r.at,
	}); err != nil {
		return fmt.Errorf("insert version %s of %s: %w", d.Version, d.Name, err)
	}
	r.id, r.created = id, true
	if err := r.record(ctx, q, w); err != nil {
		return err
	}
	if w.LatestVersionID != nil {
		current, err := q.WorkflowVersionNumber(ctx, *w.LatestVersionID)
		if err != nil {
			return fmt.Errorf("latest version of %s: %w", d.Name, err)
		}
		if !supersedes(d.Version, current) {
			return q.TouchWorkflow(ctx, r.at, w.ID)
		}
	}
	tags := d.Tags
	if tags == nil {
		tags = []string{}
	}
	return q.SetLatestWorkflowVersion(ctx, db.SetLatestWorkflowVersionParams{
		VersionID: &id, OwnerTeam: d.OwnerTeam, Description: d.Description, Tags: tags, At: r.at, ID: w.ID,
	})
}

// record writes the new version to the audit log; the content is in the version itself,
// which never changes.
func (r *registration) record(ctx context.Context, q *db.Queries, w db.Workflow) error {
	return audit.Record(ctx, q, audit.Entry{
		Action: "workflow.register", Kind: "workflow", ID: w.ID.String(), Name: r.definition.Name,
		TenantID: r.subject.TenantID, ProjectID: r.subject.ProjectID,
		New: map[string]any{"version": r.definition.Version, "version_id": r.id, "content_sha256": hex.EncodeToString(r.hash), "nodes": r.nodes},
	})
}
