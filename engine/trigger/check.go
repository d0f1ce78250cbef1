package trigger

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// states returns the states in which an execution ends.
func states() []string { return []string{"SUCCEEDED", "FAILED", "CANCELLED"} }

// checked is a spec with its defaults and the workflow that it launches.
type checked struct {
	Spec
	workflowID   uuid.UUID
	workflowName string
	inputs       []byte
	settings     []byte // nil for kinds that have none
}

// check fills in the defaults of a spec and returns Invalid with all invalid fields.
func (s *Service) check(ctx context.Context, subject auth.Subject, sp Spec) (checked, error) {
	fields := sp.foreign()
	sp.fill()
	absent, err := s.checkObjects(ctx, &sp)
	if err != nil {
		return checked{}, err
	}
	fields = append(fields, append(sp.problems(), absent...)...)
	if sp.Inputs == nil {
		sp.Inputs = map[string]any{}
	}
	c := checked{Spec: sp}
	if sp.HTTP != nil || sp.S3 != nil || sp.Join != nil {
		raw, err := json.Marshal(settings{sp.HTTP, sp.S3, sp.Join})
		if err != nil {
			return c, fmt.Errorf("encode settings: %w", err)
		}
		c.settings = raw
	}
	raw, err := json.Marshal(sp.Inputs)
	if err != nil {
		return c, fmt.Errorf("encode inputs: %w", err)
	}
	if c.inputs = raw; len(raw) > maxInputs {
		fields = append(fields, apperr.Field{Path: "inputs", Message: fmt.Sprintf("The inputs have more than %d KiB. Upload large values as files.", maxInputs>>10)})
	}
	target, problems, err := s.checkTarget(ctx, subject, sp)
	if err != nil {
		return c, err
	}
	if target != nil {
		c.workflowID, c.workflowName = target.WorkflowID, target.Name
	}
	return c, apperr.InvalidFields("The trigger has invalid values.", append(fields, problems...))
}

// problems returns the invalid fields of a spec, without looking up other objects.
func (sp *Spec) problems() (fields []apperr.Field) {
	refuse := refuserOf(&fields)
	refuse(len(sp.Name) > maxName || !nameForm.MatchString(sp.Name), "name", "Enter 1 to %d letters, digits, dots, hyphens and underscores, beginning with a letter or a digit.", maxName)
	refuse(strings.EqualFold(sp.Name, "new"), "name", `"new" is reserved. Choose another name.`)
	if sp.Kind == OnAll {
		sp.Join.problems(refuse)
	} else if !sp.only().problems(refuse) {
		refuse(true, "kind", "Choose execution, artifact, dataset, model, event, webhook, http, s3 or all.")
		return fields
	}
	if sp.Filter != "" {
		problem := checkExpression(sp.known(), sp.Filter)
		refuse(problem != "", "filter", "%s", problem)
	}
	refuse(sp.Priority != nil && (*sp.Priority < 0 || *sp.Priority > 100), "priority", "Enter 0 to 100.")
	return append(fields, checkTags(sp.known(), "inputs", sp.Inputs)...)
}

// refuser adds a field with an invalid value.
type refuser func(when bool, field, format string, args ...any)

// refuserOf returns a refuser that appends to fields.
func refuserOf(fields *[]apperr.Field) refuser {
	return func(when bool, field, format string, args ...any) {
		if when {
			*fields = append(*fields, apperr.Field{Path: field, Message: fmt.Sprintf(format, args...)})
		}
	}
}

// at returns a refuser of the fields below a path.
func (r refuser) at(path string) refuser {
	return func(when bool, field, format string, args ...any) { r(when, path+"."+field, format, args...) }
}

// fill trims texts, sets defaults, and keeps only the fields of the kind.
func (sp *Spec) fill() {
	sp.Name, sp.Filter = strings.TrimSpace(sp.Name), strings.TrimSpace(sp.Filter)
	join := sp.Join
	if sp.Join = nil; sp.Kind == OnAll {
		sp.Join = join.filled()
	}
	c := sp.only().filled()
	sp.Sources, sp.States, sp.Stages, sp.Signature, sp.Secret, sp.HTTP, sp.S3 = c.Sources, c.States, c.Stages, c.Signature, c.Secret, c.HTTP, c.S3
}

// executionProblems returns the invalid fields for the executions that a trigger or a condition
// waits for.
func executionProblems(sources, ends []string, refuse refuser) {
	refuse(len(sources) == 0, "sources", "Enter at least one workflow.")
	refuse(len(sources) > maxList, "sources", "Enter at most %d names.", maxList)
	for _, w := range sources {
		_, err := path.Match(w, "")
		refuse(err != nil || w == "" || len(w) > 200, "sources", "%q is not a name or a pattern such as digits.*", w)
	}
	for _, state := range ends {
		refuse(!slices.Contains(states(), state), "states", "%q is not a state in which an execution ends. The states are %s.", state, strings.Join(states(), ", "))
	}
}

// checkObjects checks that the secrets and the connections of conditions exist, and that the subject
// may use the connections.
func (s *Service) checkObjects(ctx context.Context, sp *Spec) (fields []apperr.Field, err error) {
	refuse := func(field, format string, args ...any) {
		fields = append(fields, apperr.Field{Path: field, Message: fmt.Sprintf(format, args...)})
	}
	for i, c := range sp.Conditions() {
		at := ""
		if sp.Kind == OnAll {
			at = fmt.Sprintf("all.%d.", i)
		}
		if c.Secret != "" {
			exists, err := s.config.Secrets.Exists(ctx, c.Secret)
			if err != nil {
				return nil, fmt.Errorf("find secret %s: %w", c.Secret, err)
			}
			if !exists {
				refuse(at+"secret", "There is no secret called %q in this project.", c.Secret)
			}
		}
		var kind, name, field string
		switch {
		case c.HTTP != nil:
			kind, name, field = connection.HTTP, c.HTTP.Connection, "http.connection"
		case c.S3 != nil:
			kind, name, field = connection.S3, c.S3.Connection, "s3.connection"
		}
		if name == "" {
			continue
		}
		exists, err := s.config.Connections.Exists(ctx, kind, name)
		if err != nil {
			return nil, fmt.Errorf("find connection %s: %w", name, err)
		}
		if !exists {
			refuse(at+field, "There is no connection %q of the kind %s in this project that you may use.", name, kind)
		}
	}
	return fields, nil
}

// checkTarget checks the workflow to launch, and the inputs that do not depend on the event.
func (s *Service) checkTarget(ctx context.Context, subject auth.Subject, sp Spec) (*workflow.Version, []apperr.Field, error) {
	if strings.TrimSpace(sp.Workflow) == "" {
		return nil, []apperr.Field{{Path: "workflow", Message: "Choose the workflow to launch."}}, nil
	}
	w, err := s.config.Workflows.Get(ctx, sp.Workflow)
	if apperr.Is(err, apperr.NotFound) || err == nil && w.ProjectID != subject.ProjectID {
		return nil, []apperr.Field{{Path: "workflow", Message: fmt.Sprintf("There is no workflow %q in this project.", sp.Workflow)}}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	version, err := s.config.Workflows.Version(ctx, sp.Workflow, sp.Version)
	if apperr.Is(err, apperr.NotFound) {
		return nil, []apperr.Field{{Path: "version", Message: apperr.MessageOf(err)}}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	constant, depends := map[string]any{}, map[string]bool{}
	for name, v := range sp.Inputs {
		if tagged(v) {
			root, _, _ := strings.Cut(name, ".")
			depends[root] = true
		} else {
			constant[name] = v
		}
	}
	_, problems := version.Definition.Inputs.CheckAll(constant, typeregistry.Env{Now: s.now(), Exists: s.config.Executions.References(ctx)})
	var fields []apperr.Field
	for _, p := range problems {
		root, _, _ := strings.Cut(p.Path, ".")
		if !depends[root] {
			fields = append(fields, apperr.Field{Path: "inputs." + p.Path, Message: p.Message})
		}
	}
	for name := range depends {
		if !slices.ContainsFunc(version.Definition.Inputs.Fields, func(f typeregistry.Field) bool { return f.Name == name }) {
			fields = append(fields, apperr.Field{Path: "inputs." + name, Message: fmt.Sprintf("The workflow %s has no input %q.", w.Name, name)})
		}
	}
	slices.SortFunc(fields, func(a, b apperr.Field) int { return strings.Compare(a.Path, b.Path) })
	return &version, fields, nil
}

// unique returns the trimmed texts without repetitions and empty ones, and never nil.
func unique(list []string) []string {
	out := make([]string, 0, len(list))
	for _, v := range list {
		if v = strings.TrimSpace(v); v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
