package typeregistry

import (
	"net/url"
	"regexp"
	"strings"
)

// secretKind is Secret: the name of a secret, never its content:
// {"$secret": "name"}; a bare name is read too.
type secretKind struct{ single }

func (secretKind) entry() Entry {
	return Entry{Name: "Secret", Group: "reference", Summary: "The name of a stored secret. Its value is never shown.", Example: "Secret"}
}
func (secretKind) noun(*Type) string { return "a secret" }
func (secretKind) hint(*Type) string { return "Enter the name of a secret." }

const secretPattern = `^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$` //nolint:gosec // the form of a name, no secret

var secretName = regexp.MustCompile(secretPattern)

func (k secretKind) normalize(c *checker, t *Type, path string, v any) any {
	object, ok := v.(map[string]any)
	if ok {
		refuseUnknown(c, path, object, "$secret")
		v = object["$secret"]
	}
	text, isText := v.(string)
	text = strings.TrimSpace(text)
	if !isText || !secretName.MatchString(text) {
		c.problem(path, "A secret name can have only letters, digits, \".\", \"_\", \"/\" and \"-\". "+k.hint(t))
		return v
	}
	c.exists(t, path, text)
	return map[string]any{"$secret": text}
}

func (secretKind) jsonSchema(*Type) map[string]any {
	name := map[string]any{"type": "string", "pattern": secretPattern}
	return map[string]any{"anyOf": []any{name, map[string]any{"type": "object", "properties": map[string]any{"$secret": name},
		"required": []any{"$secret"}, "additionalProperties": false}}}
}

func (secretKind) ui(_ *Type, f *UIField, _ Env) { f.Component = "SecretSelector" }

func (secretKind) decode(r *formReader, _ *Type, name, _ string) (any, bool) {
	text, ok := r.text(name)
	if !ok || text == "" {
		return nil, false
	}
	return map[string]any{"$secret": text}, true
}

func (secretKind) encode(_ *Type, v any, name string, out url.Values) {
	if object, ok := v.(map[string]any); ok {
		v = object["$secret"]
	}
	out.Set(name, inputText(v))
}

func (k secretKind) render(_ *Type, v any) string {
	if object, ok := v.(map[string]any); ok {
		v = object["$secret"]
	}
	return "Secret " + inputText(v)
}

func (secretKind) accept(t, from *Type) error { return sameKind(t, from) }

// HoldsSecret reports whether a value of t, or a part of it, may refer to a secret or a connection.
func (t *Type) HoldsSecret() bool { return t.Holds(KindSecret) || t.Holds(KindConnection) }

// Holds reports whether t, or a part of it, has the kind.
func (t *Type) Holds(kind Kind) bool {
	if t == nil {
		return false
	}
	if t.Kind == kind || t.Elem.Holds(kind) {
		return true
	}
	for _, f := range t.Fields {
		if f.Type.Holds(kind) {
			return true
		}
	}
	for _, v := range t.Variants {
		if v.Type.Holds(kind) {
			return true
		}
	}
	return false
}
