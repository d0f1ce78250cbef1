package catalogue

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

func readConnectionForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxConnectionForm)
	if err := r.ParseForm(); err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The upload was interrupted. Send the form again.")
	}
	return nil
}

// readConnection reads a change of c from its form. An empty secret field keeps its value unless
// its box indicates that it is removed.
func readConnection(r *http.Request, c connection.Connection) (connection.Edit, error) {
	edit := connection.Edit{Name: c.Name, Kind: c.Kind, Description: r.PostForm.Get("description"), Declared: c.Declared}
	if c.Kind == connection.Custom {
		var err error
		if edit.Declared, err = readDeclared(r.PostForm.Get("declared")); err != nil {
			return edit, err
		}
	}
	c.Declared = edit.Declared
	edit.Values = readValues(r, c.Fields())
	return edit, nil
}

// readValues reads the values of fields from a form.
func readValues(r *http.Request, fields []connection.Field) map[string]any {
	values := map[string]any{}
	for _, f := range fields {
		if _, sent := r.PostForm["values."+f.Name]; !sent {
			continue
		}
		value := typedLines(r.PostForm.Get("values." + f.Name))
		switch {
		case !f.Secret:
			values[f.Name] = strings.TrimSpace(value)
		case value != "":
			values[f.Name] = value
		case r.PostForm.Get("remove."+f.Name) != "":
			values[f.Name] = nil
		}
	}
	return values
}

// readDeclared reads the fields of a custom connection, one for each line: "NAME: TYPE, secret, required".
func readDeclared(text string) ([]connection.Field, error) {
	var fields []connection.Field
	for i, line := range strings.Split(typedLines(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, rest, ok := strings.Cut(line, ":")
		if !ok {
			return nil, apperr.InvalidFields("The connection has invalid values.", []apperr.Field{{Path: "declared", Message: fmt.Sprintf("Line %d: write NAME: TYPE.", i+1)}})
		}
		f := connection.Field{Name: strings.TrimSpace(name)}
		rest = strings.TrimSpace(rest)
		for {
			if before, found := strings.CutSuffix(rest, "secret"); found && strings.HasSuffix(strings.TrimSpace(before), ",") {
				f.Secret, rest = true, strings.TrimSuffix(strings.TrimSpace(before), ",")
				continue
			}
			if before, found := strings.CutSuffix(rest, "required"); found && strings.HasSuffix(strings.TrimSpace(before), ",") {
				f.Required, rest = true, strings.TrimSuffix(strings.TrimSpace(before), ",")
				continue
			}
			break
		}
		f.Type = strings.TrimSpace(rest)
		fields = append(fields, f)
	}
	return fields, nil
}

// writeDeclared is the inverse of readDeclared.
func writeDeclared(fields []connection.Field) string {
	var lines []string
	for _, f := range fields {
		line := f.Name + ": " + f.Type
		if f.Secret {
			line += ", secret"
		}
		if f.Required {
			line += ", required"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// connectionForm is the form of c; typed are the values of a form that was refused.
func connectionForm(kind connection.Kind, c connection.Connection, typed url.Values) *views.ConnectionForm {
	form := &views.ConnectionForm{
		Kind: kind.Name, Name: c.Name, Description: c.Description, Custom: kind.Name == connection.Custom, Declared: writeDeclared(c.Declared),
	}
	if typed != nil {
		form.Description = typed.Get("description")
		if form.Custom {
			form.Declared = typed.Get("declared")
		}
	}
	for _, f := range c.Fields() {
		form.Fields = append(form.Fields, connectionInput(f, c, typed))
	}
	return form
}

func connectionInput(f connection.Field, c connection.Connection, typed url.Values) views.ConnectionInput {
	in := views.ConnectionInput{
		Name: f.Name, Label: f.Title(), Help: f.Help, Secret: f.Secret, Required: f.Required, Kept: f.Secret && slices.Contains(c.Secrets, f.Name), For: f.For,
	}
	t, err := typeregistry.Builtin().Parse(f.Type)
	if err != nil {
		return in
	}
	in.Lines = t.Kind == typeregistry.KindText || t.Params.Multiline
	if f.Secret {
		return in
	}
	in.Value = c.Text(f.Name)
	if in.Value == "" && c.CreatedAt.IsZero() && f.Default != nil {
		in.Value = fmt.Sprint(f.Default)
	}
	if given, ok := typed["values."+f.Name]; ok {
		in.Value = given[0]
	}
	choices := t.Params.Options
	if t.Kind == typeregistry.KindBoolean {
		choices = []typeregistry.Option{{Value: "false", Label: "No"}, {Value: "true", Label: "Yes"}}
	}
	if len(choices) > 0 && !f.Required && f.Default == nil {
		in.Options = append(in.Options, ui.Option{Name: "Not set", Selected: in.Value == ""})
	}
	for _, o := range choices {
		option := ui.Option{Value: fmt.Sprint(o.Value), Name: o.Label}
		if option.Name == "" {
			option.Name = option.Value
		}
		option.Selected = option.Value == in.Value
		in.Options = append(in.Options, option)
	}
	return in
}

// refusedForm is the form with what was typed and its errors. It has no secret field.
func refusedForm(kind connection.Kind, c connection.Connection, typed url.Values, err error) *views.ConnectionForm {
	form := connectionForm(kind, c, typed)
	form.Failed, form.Errors = apperr.MessageOf(err), map[string]string{}
	for _, f := range apperr.FieldsOf(err) {
		path := f.Path
		if strings.HasPrefix(path, "declared") {
			path = "declared"
		}
		if form.Errors[path] == "" {
			form.Errors[path] = f.Message
		}
	}
	return form
}
