package connection

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/typeregistry"
)

// Edit is a connection to store. Create rejects a name that exists.
type Edit struct {
	Name        string
	Kind        string
	Description string
	Declared    []Field // of a custom connection
	// Values has visible and secret fields by name. A visible field without a value gets its
	// default. A secret field that is not in Values keeps its value, unless the host changes; nil
	// and "" remove it.
	Values map[string]any
	Create bool
}

// checked is an Edit as it is stored.
type checked struct {
	declared []Field
	settings map[string]any
	secrets  map[string]string
}

// former is the state of a connection before a change. The zero value is a new connection.
type former struct {
	settings map[string]any
	secrets  map[string]string // that stay unless Values has them
}

// check returns the connection that results from applying e to before.
func (e Edit) check(before former) (checked, error) {
	var problems []apperr.Field
	add := func(path, message string) {
		problems = append(problems, apperr.Field{Path: path, Message: message})
	}
	if !secret.ValidName(e.Name) {
		add("name", `Use 1 to 100 letters, digits, ".", "_" and "-"; start with a letter, a digit or "_".`)
	}
	if e.Name == "new" {
		add("name", `"new" is reserved. Choose another name.`)
	}
	if utf8.RuneCountInString(e.Description) > MaxDescription {
		add("description", fmt.Sprintf("At most %d characters.", MaxDescription))
	}
	out := checked{settings: map[string]any{}, secrets: map[string]string{}}
	kind, known := KindNamed(e.Kind)
	switch {
	case !known:
		add("kind", "Choose "+strings.Join(kindNames(), ", ")+".")
	case kind.Name == Custom:
		declared := checkDeclared(e.Declared)
		problems = append(problems, declared...)
		known = len(declared) == 0
		out.declared = e.Declared
	case len(e.Declared) > 0:
		add("declared", "Only custom connections can declare fields.")
	}
	if known {
		more, err := out.take(e, before.secrets)
		if err != nil {
			return out, err
		}
		if len(more) == 0 {
			more = out.moved(e, before)
		}
		problems = append(problems, more...)
	}
	return out, apperr.InvalidFields("The connection has invalid values.", problems)
}

// take reads the values of the fields.
func (c *checked) take(e Edit, kept map[string]string) ([]apperr.Field, error) {
	values, problems, err := CheckFields(fieldsOf(e.Kind, e.Declared), e.Values, kept)
	if err != nil {
		return nil, err
	}
	c.settings, c.secrets = values.Settings, values.Secrets
	for _, p := range checkTogether(e.Kind, c.settings, func(name string) bool { return c.secrets[name] != "" }) {
		problems = append(problems, apperr.Field{Path: "values." + p.Path, Message: p.Message})
	}
	for _, p := range checkChannel(e.Kind, c.settings, c.secrets) {
		problems = append(problems, apperr.Field{Path: "values." + p.Path, Message: p.Message})
	}
	return problems, nil
}

// Values are checked values of fields.
type Values struct {
	Settings map[string]any    // visible fields that have a value
	Secrets  map[string]string // secret fields that have a value
}

// CheckFields checks the given values of fields. A visible field without a value gets its default. A
// secret field that is not given has its value in kept; nil and "" remove it. The paths of problems
// begin with "values.".
func CheckFields(fields []Field, given map[string]any, kept map[string]string) (Values, []apperr.Field, error) {
	out := Values{Settings: map[string]any{}, Secrets: map[string]string{}}
	var problems []apperr.Field
	add := func(name, message string) {
		problems = append(problems, apperr.Field{Path: "values." + name, Message: message})
	}
	visible := map[string]any{}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
		value := given[name]
		if text, ok := value.(string); ok {
			size += len(text)
			if text == "" {
				value = nil
			}
		}
		switch {
		case i < 0:
			add(name, "Unknown field. The fields are "+strings.Join(names(fields), ", ")+".")
		case !fields[i].Secret && value != nil:
			visible[name] = asBoolean(fields[i], value)
		}
	}
	if size > MaxEdit {
		add("", fmt.Sprintf("The values exceed %d KiB in total.", MaxEdit>>10))
	}
	for _, f := range fields {
		if f.Secret {
			if message := takeSecret(f, given, kept, out.Secrets); message != "" {
				add(f.Name, message)
			}
		} else if visible[f.Name] == nil && f.Default != nil {
			visible[f.Name] = f.Default
		}
	}
	s, err := schema(fields)
	if err != nil {
		return out, nil, err
	}
	settings, found := s.CheckAll(visible, typeregistry.Env{})
	for _, p := range found {
		if _, known := s.Field(p.Path); known {
			add(p.Path, p.Message)
		}
	}
	maps.DeleteFunc(settings, func(_ string, value any) bool { return value == nil || value == "" })
	out.Settings = settings
	return out, problems, nil
}

// moved refuses to send secret values that the connection had to another host. The user who changes
// the host may not know them, and the test sends them there.
func (c *checked) moved(e Edit, before former) (problems []apperr.Field) {
	was := host(e.Kind, before.settings)
	if was == host(e.Kind, c.settings) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(before.secrets)) {
		if _, given := e.Values[name]; !given && c.secrets[name] != "" {
			problems = append(problems, apperr.Field{Path: "values." + name, Message: "Enter the value again, or remove it. It was entered for " + was + ", and the connection now points to another host."})
		}
	}
	return problems
}

// takeSecret adds the value of a secret field to out, or returns the problem with it.
func takeSecret(f Field, values map[string]any, kept, out map[string]string) string {
	given, ok := values[f.Name]
	value := kept[f.Name]
	if ok {
		text, isText := given.(string)
		if given != nil && !isText {
			return "The value must be text."
		}
		value = text
	}
	switch {
	case value == "" && f.Required:
		return "Enter the value."
	case value == "":
		return ""
	case len(value) > secret.MaxValue:
		return fmt.Sprintf("The value exceeds %d KiB.", secret.MaxValue>>10)
	case !utf8.ValidString(value) || strings.Contains(value, "\x00"):
		return "The value must be text. Encode bytes as base64."
	case utf8.RuneCountInString(value) < secret.MinValue:
		return fmt.Sprintf("Use at least %d characters. Shorter values cannot be masked in logs.", secret.MinValue)
	}
	out[f.Name] = value
	return ""
}

// asBoolean parses the values of forms and of the command line for a Boolean.
func asBoolean(f Field, value any) any {
	if f.Type != string(typeregistry.KindBoolean) {
		return value
	}
	switch value {
	case "true":
		return true
	case "false":
		return false
	}
	return value
}

func names(fields []Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name
	}
	return out
}

func kindNames() []string {
	var list []string
	for _, k := range Kinds() {
		list = append(list, k.Name)
	}
	return list
}
