package preset

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/workflow"
)

// checkedInputs are the inputs of an Edit. They are checked before its transaction, because a check reads
// versions and references with a connection of its own.
type checkedInputs struct {
	version string
	values  json.RawMessage
	fields  []apperr.Field // problems
}

// checkInputs checks the inputs of e, if it has some.
func (s *Service) checkInputs(ctx context.Context, w workflow.Workflow, e Edit) (checkedInputs, error) {
	if e.Inputs == nil {
		return checkedInputs{}, nil
	}
	v, err := s.workflows.Version(ctx, w.ID.String(), e.Version)
	if err != nil {
		return checkedInputs{}, err
	}
	given := map[string]any{}
	for name, value := range e.Inputs {
		if value != nil {
			given[name] = value
		}
	}
	out := checkedInputs{version: v.Version}
	for _, m := range Fit(v.Definition.Inputs, given, e.Env).Incompatible {
		out.fields = append(out.fields, apperr.Field{Path: "inputs." + m.Path, Message: m.Message})
	}
	if out.values, err = json.Marshal(given); err != nil {
		return checkedInputs{}, fmt.Errorf("encode inputs: %w", err)
	}
	if len(out.values) > MaxInputs {
		out.fields = append(out.fields, apperr.Field{Path: "inputs", Message: fmt.Sprintf("The inputs have more than %d KiB. Upload large values as files.", MaxInputs>>10)})
	}
	return out, nil
}

// apply checks e and writes it to row.
func apply(ctx context.Context, q *db.Queries, subject auth.Subject, w workflow.Workflow, e Edit, inputs checkedInputs, row *db.LaunchPreset) error {
	var fields []apperr.Field
	add := func(path, message string) { fields = append(fields, apperr.Field{Path: path, Message: message}) }
	if e.Name != nil || row.Name == "" {
		row.Name = strings.TrimSpace(deref(e.Name))
		if message := nameProblem(row.Name); message != "" {
			add("name", message)
		}
	}
	if e.Description != nil {
		row.Description = strings.TrimSpace(*e.Description)
		if utf8.RuneCountInString(row.Description) > MaxDescription {
			add("description", fmt.Sprintf("At most %d characters.", MaxDescription))
		}
	}
	if e.Sharing != nil && string(*e.Sharing) != row.Sharing {
		row.Sharing = string(*e.Sharing)
		message, err := sharingProblem(ctx, q, subject, w, *e.Sharing)
		if err != nil {
			return err
		}
		if *e.Sharing == Private && row.OwnerID != subject.ID {
			message = "Only " + row.OwnerName + " can make this preset private."
		}
		if message != "" {
			add("sharing", message)
		}
	}
	if e.Inputs != nil {
		row.Version, row.Inputs = inputs.version, inputs.values
		fields = append(fields, inputs.fields...)
	}
	return apperr.InvalidFields("The preset has invalid values.", fields)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// nameProblem is what is wrong with a name, or "".
func nameProblem(name string) string {
	_, err := uuid.Parse(name)
	switch {
	case name == "":
		return "Enter a name."
	case utf8.RuneCountInString(name) > MaxName:
		return fmt.Sprintf("At most %d characters.", MaxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "Use one line of text."
	case err == nil:
		return "Choose a name that is not an ID."
	}
	return ""
}

// sharingProblem is why subject cannot share a preset this way, or "".
func sharingProblem(ctx context.Context, q *db.Queries, subject auth.Subject, w workflow.Workflow, to Sharing) (string, error) {
	switch to {
	case Private, Project:
		return "", nil
	case Team:
		team, err := q.TeamOfProject(ctx, w.ProjectID)
		if err != nil {
			return "", fmt.Errorf("team of project %s: %w", w.ProjectID, err)
		}
		if !subject.May(auth.ExecutionLaunch, team.ID) {
			return "Only members of the team " + team.Name + " who can launch its workflows can share with the team. Share with the project instead.", nil
		}
		return "", nil
	}
	return "Choose private, project or team.", nil
}
