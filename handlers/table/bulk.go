package table

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// MaxBulk is the number of executions that one command can name.
const MaxBulk = 500

// The actions of a command for many executions.
const (
	ActionCancel = "cancel"
	ActionResume = "resume"
	ActionTag    = "tag"
	ActionDelete = "delete"
)

// removal describes what a deletion does.
const removal = "The execution, its logs and metrics, and its artifacts that nothing else uses are deleted."

// Bulk is a command for many executions.
type Bulk struct {
	Action string
	IDs    []uuid.UUID
	Reason string // of cancel
	Change index.Change
	DryRun bool   // only describes what would happen, with the checks of the command
	Key    string // identifies the command, so that a repeated one resumes nothing twice; "" for none
}

// Outcome is what a command does to one execution.
type Outcome struct {
	ID        uuid.UUID
	Execution query.Execution // zero: it does not exist for the caller
	Done      bool            // or would be done
	Message   string          // what happened, or why nothing did
	Created   uuid.UUID       // the execution that a resume launched
}

// Apply runs a command for each of its executions. An execution for which it fails does not stop
// the others.
func (s *Service) Apply(ctx context.Context, b Bulk) ([]Outcome, error) {
	if len(b.IDs) == 0 || len(b.IDs) > MaxBulk {
		message := fmt.Sprintf("Choose 1 to %d executions.", MaxBulk)
		return nil, apperr.InvalidFields(message, []apperr.Field{{Path: "execution_ids", Message: message}})
	}
	if b.Action == ActionTag && len(b.Change.Add)+len(b.Change.Remove) == 0 && b.Change.Note == nil {
		return nil, apperr.InvalidFields("Enter a tag.", []apperr.Field{{Path: "add", Message: "Enter a tag."}})
	}
	list, err := s.Executions.Named(ctx, b.IDs)
	if err != nil {
		return nil, err
	}
	found := map[uuid.UUID]query.Execution{}
	for _, e := range list {
		found[e.ID] = e
	}
	outcomes := make([]Outcome, 0, len(b.IDs))
	seen := map[uuid.UUID]bool{}
	for _, id := range b.IDs {
		if seen[id] {
			continue
		}
		seen[id] = true
		o := Outcome{ID: id, Execution: found[id]}
		if o.Execution.ID == uuid.Nil {
			o.Message = "There is no such execution."
		} else {
			s.one(ctx, b, &o)
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}

// one runs a command for one execution.
func (s *Service) one(ctx context.Context, b Bulk, o *Outcome) {
	var err error
	switch b.Action {
	case ActionCancel:
		err = s.cancel(ctx, b, o)
	case ActionResume:
		err = s.resume(ctx, b, o)
	case ActionDelete:
		err = s.remove(ctx, b, o)
	case ActionTag:
		o.Message = TagsText(b.Change)
		change := b.Change // Label normalises its own
		change.Add = slices.Clone(change.Add)
		if b.DryRun {
			err = s.Index.CheckLabel(ctx, o.ID, change)
		} else {
			_, err = s.Index.Label(ctx, o.ID, change)
		}
	}
	if o.Done = err == nil; !o.Done {
		o.Message = apperr.MessageOf(err)
	}
}

func (s *Service) cancel(ctx context.Context, b Bulk, o *Outcome) error {
	if o.Execution.Status.Ended() {
		return apperr.New(apperr.Conflict, "It has ended.")
	}
	c := o.Execution.Counts
	o.Message = fmt.Sprintf("%d running and %d waiting nodes.", c.Running+c.Queued, c.Pending+c.Ready+c.Retrying+c.AwaitingApproval)
	if b.DryRun {
		return s.Executions.Commands.MayCancel(ctx, o.ID)
	}
	return s.Executions.Commands.Cancel(ctx, o.ID, b.Reason)
}

func (s *Service) remove(ctx context.Context, b Bulk, o *Outcome) error {
	o.Message = removal
	if b.DryRun {
		return s.Retention.MayDelete(ctx, o.ID)
	}
	return s.Retention.Delete(ctx, o.ID)
}

func (s *Service) resume(ctx context.Context, b Bulk, o *Outcome) error {
	if o.Execution.Status != query.Failed && o.Execution.Status != query.Cancelled {
		return apperr.New(apperr.Conflict, "Only failed and cancelled executions can be resumed.")
	}
	o.Message = "Runs again from its first failures, as a new execution."
	request := execution.ResumeRequest{Of: o.ID, IdempotencyKey: resumeKey(b.Key, o.ID)}
	if b.DryRun {
		plan, err := s.Executions.Resumption.Plan(ctx, request)
		if err == nil && plan.Refusal != "" {
			err = apperr.New(apperr.Conflict, "%s", plan.Refusal)
		}
		return err
	}
	e, _, err := s.Executions.Resumption.Resume(ctx, request)
	o.Created = e.ID
	return err
}

// TagsText describes a change of tags: “Adds the tag “best”.”
func TagsText(c index.Change) string {
	var parts []string
	for _, p := range []struct {
		verb string
		tags []string
	}{{"Adds", c.Add}, {"Removes", c.Remove}} {
		quoted := make([]string, len(p.tags))
		for i, tag := range p.tags {
			quoted[i] = "“" + strings.TrimSpace(tag) + "”"
		}
		switch len(quoted) {
		case 0:
		case 1:
			parts = append(parts, p.verb+" the tag "+quoted[0]+".")
		default:
			parts = append(parts, p.verb+" the tags "+strings.Join(quoted[:len(quoted)-1], ", ")+" and "+quoted[len(quoted)-1]+".")
		}
	}
	switch {
	case c.Note == nil:
	case strings.TrimSpace(*c.Note) == "":
		parts = append(parts, "Removes the note.")
	default:
		parts = append(parts, "Changes the note.")
	}
	return strings.Join(parts, " ")
}

// resumeKey is the idempotency key of one execution's resume.
func resumeKey(key string, id uuid.UUID) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key + "\x00" + id.String()))
	return "bulk-" + hex.EncodeToString(sum[:])
}
