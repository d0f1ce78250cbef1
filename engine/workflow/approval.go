package workflow

import (
	"encoding/json"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/typeregistry"
)

// Approval makes an operator wait for a user.
type Approval struct {
	Message string              // tags such as {{name}} are replaced by the operator's inputs
	Form    typeregistry.Schema // what the user fills in; its fields are the operator's outputs
	Default map[string]any      // the answer after the timeout; nil: the operator fails then
}

// Question returns the message with the values of its tags. Values that are no text are written as JSON.
func (a *Approval) Question(values map[string]any) (string, error) {
	parsed, err := expression.ParseText(a.Message)
	if err != nil {
		return "", err
	}
	return parsed.Fill(func(tag *expression.Expression) (string, error) {
		v, err := tag.Value(values)
		if err != nil {
			return "", err
		}
		switch v := v.(type) {
		case nil:
			return "", nil
		case string:
			return v, nil
		}
		raw, err := json.Marshal(v)
		return string(raw), err
	})
}

// approval checks the tags of the message of an approval, whose inputs are known now.
func (l *linker) approval(op *Operator, path string) {
	if op.Type != TypeApproval || op.Approval == nil || op.Tags != nil {
		return
	}
	path += ".approval.message"
	parsed, err := expression.ParseText(op.Approval.Message)
	if err != nil {
		l.add(path, "%s", apperr.MessageOf(err))
		return
	}
	for _, tag := range parsed.Tags() {
		for _, in := range l.tagInputs(op, tag, path, valueNames(op, "")) {
			switch {
			case in.Type == nil:
			case in.Type.IsBlob():
				l.add(path, "The input %s is a file, which cannot be part of a message.", in.Name)
			case in.Type.HoldsSecret():
				l.add(path, "The input %s is a secret, and everyone who can read the execution sees the message.", in.Name)
			}
		}
	}
}
