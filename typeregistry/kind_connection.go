package typeregistry

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// connectionKind is Connection: the name of a connection of the project, never what it contains:
// {"$connection": "name"}; a bare name is read too.
type connectionKind struct{ single }

// ConnectionKinds are the possible values of the parameter kind of a Connection.
func ConnectionKinds() []string {
	return []string{"postgres", "clickhouse", "s3", "http", "grpc", "huggingface", "custom"}
}

func (connectionKind) entry() Entry {
	return Entry{Name: "Connection", Group: "reference", Summary: "A connection of the project to a database, bucket or API.", Example: `Connection(kind="postgres")`}
}

func (connectionKind) params() []parameter {
	return []parameter{textParam("kind", "The kind of connection: "+strings.Join(ConnectionKinds(), ", ")+".", func(p *Params) *string { return &p.Connection })}
}

func (connectionKind) shape() shape { return wordShape }

func (connectionKind) prepare(t *Type) error {
	if kind := t.Params.Connection; kind != "" && !slices.Contains(ConnectionKinds(), kind) {
		return fmt.Errorf("kind is %s; use %s.%s", quote(kind), listed(ConnectionKinds()), suggest(kind, ConnectionKinds()))
	}
	return nil
}

func (connectionKind) noun(*Type) string { return "a connection" }

func (connectionKind) hint(t *Type) string {
	if t.Params.Connection == "" {
		return "Choose a connection."
	}
	return "Choose a connection of kind " + t.Params.Connection + "."
}

const connectionPattern = `^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`

var connectionName = regexp.MustCompile(connectionPattern)

func (k connectionKind) normalize(c *checker, t *Type, path string, v any) any {
	object, ok := v.(map[string]any)
	if ok {
		refuseUnknown(c, path, object, "$connection")
		v = object["$connection"]
	}
	text, isText := v.(string)
	text = strings.TrimSpace(text)
	if !isText || !connectionName.MatchString(text) {
		c.problem(path, "A connection name can have only letters, digits, \".\", \"_\" and \"-\". "+k.hint(t))
		return v
	}
	if c.env.Exists != nil && !c.env.Exists(KindConnection, ConnectionRef(t.Params.Connection, text)) {
		c.problem(path, "There is no connection "+quote(text)+" that you can use here. "+k.hint(t))
	}
	return map[string]any{"$connection": text}
}

// ConnectionRef is the reference to a connection for Env.Exists; kind is "" for any.
func ConnectionRef(kind, name string) string { return kind + ":" + name }

func (connectionKind) jsonSchema(*Type) map[string]any {
	name := map[string]any{"type": "string", "pattern": connectionPattern}
	return map[string]any{"anyOf": []any{name, map[string]any{"type": "object", "properties": map[string]any{"$connection": name},
		"required": []any{"$connection"}, "additionalProperties": false}}}
}

func (connectionKind) ui(t *Type, f *UIField, _ Env) {
	f.Component, f.AutocompleteSource = "ConnectionSelector", "/api/v1/connections"
	f.Filters = filters("kind", t.Params.Connection)
}

func (connectionKind) decode(r *formReader, _ *Type, name, _ string) (any, bool) {
	text, ok := r.text(name)
	if !ok || text == "" {
		return nil, false
	}
	return map[string]any{"$connection": text}, true
}

func (connectionKind) encode(_ *Type, v any, name string, out url.Values) {
	if object, ok := v.(map[string]any); ok {
		v = object["$connection"]
	}
	out.Set(name, inputText(v))
}

func (connectionKind) render(_ *Type, v any) string {
	if object, ok := v.(map[string]any); ok {
		v = object["$connection"]
	}
	return "Connection " + inputText(v)
}

func (connectionKind) accept(t, from *Type) error {
	if from.Kind != t.Kind {
		return mismatch(t, from)
	}
	if a, b := t.Params.Connection, from.Params.Connection; a != "" && a != b {
		if b == "" {
			b = "any"
		}
		return fmt.Errorf("its kind is %s, but %s is required", b, a)
	}
	return nil
}
