package typeregistry

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/platform/units"
)

// referenceKind is every kind whose values refer to stored files:
//
//	{"$artifact": "<artifact id>"}
//	{"$catalogue": "name@version"}
//	{"$file": "<sha256>", "name": "x.csv", "size": 123, "media_type": "text/csv"}
//
// A text is read as a catalogue reference, or as an artifact when it is a UUID.
type referenceKind struct {
	single
	about      Entry
	words      string // "a dataset"
	parameters func() []parameter
	component  string
	source     string // source of completions in the form
	picks      bool   // the text control is the value; otherwise "$ref" is, alongside an upload
	file       bool   // a single file, so that File takes it
	rules      []Validator
	compare    func(t, from *Type) error
	also       []Kind // other kinds assignable to this one
	details    func(t *Type, f *UIField)
}

func (k referenceKind) entry() Entry            { return k.about }
func (k referenceKind) params() []parameter     { return k.parameters() }
func (referenceKind) blob() bool                { return true }
func (k referenceKind) noun(*Type) string       { return k.words }
func (k referenceKind) entryRules() []Validator { return k.rules }

func (k referenceKind) hint(*Type) string {
	if k.picks {
		return "Choose " + k.words + ", such as name@version."
	}
	return "Choose or upload " + k.words + "."
}

// cataloguePattern is "name" or "name@version".
const cataloguePattern = `^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}(@[A-Za-z0-9][A-Za-z0-9._+-]{0,99})?$`

var catalogueReference = regexp.MustCompile(cataloguePattern)

func (k referenceKind) normalize(c *checker, t *Type, path string, v any) any {
	if text, ok := v.(string); ok {
		v = reference(strings.TrimSpace(text))
	}
	object, ok := v.(map[string]any)
	if !ok {
		return c.wrong(t, path, v)
	}
	return k.normalizeReference(c, t, path, object)
}

// reference parses an artifact id or a catalogue reference.
func reference(text string) map[string]any {
	if id, err := uuid.Parse(text); err == nil && len(text) == 36 {
		return map[string]any{"$artifact": id.String()}
	}
	return map[string]any{"$catalogue": text}
}

func (k referenceKind) normalizeReference(c *checker, t *Type, path string, object map[string]any) any {
	before := len(c.problems)
	switch {
	case object["$artifact"] != nil:
		text, _ := object["$artifact"].(string)
		id, err := uuid.Parse(text)
		if err != nil || len(text) != 36 {
			c.problem(path, sentence(quote(object["$artifact"])+" is not an artifact ID.", k.hint(t)))
			return object
		}
		refuseUnknown(c, path, object, "$artifact")
		if len(c.problems) == before {
			c.exists(t, path, id.String())
		}
		return map[string]any{"$artifact": id.String()}
	case object["$catalogue"] != nil:
		ref, _ := object["$catalogue"].(string)
		if !catalogueReference.MatchString(ref) {
			c.problem(path, sentence(quote(object["$catalogue"])+" is not a reference.", k.hint(t)))
			return object
		}
		refuseUnknown(c, path, object, "$catalogue")
		if len(c.problems) == before {
			c.exists(t, path, ref)
		}
		return map[string]any{"$catalogue": ref}
	case object["$file"] != nil:
		return k.normalizeFile(c, t, path, object)
	}
	c.problem(path, k.hint(t))
	return object
}

func (k referenceKind) normalizeFile(c *checker, t *Type, path string, object map[string]any) any {
	refuseUnknown(c, path, object, "$file", "name", "size", "media_type")
	sha, _ := object["$file"].(string)
	if digest, err := hex.DecodeString(sha); err != nil || len(digest) != 32 {
		c.problem(path, "The upload has no SHA-256. Upload the file again.")
		return object
	}
	before := len(c.problems)
	c.exists(t, path, "sha256:"+strings.ToLower(sha))
	if c.env.Head != nil && len(c.problems) == before {
		if head, ok := c.env.Head(strings.ToLower(sha)); ok {
			if message := t.CheckHead(head); message != "" {
				c.problem(path, message)
			}
		}
	}
	out := map[string]any{"$file": strings.ToLower(sha)}
	for _, key := range []string{"name", "media_type"} {
		if object[key] == nil {
			continue
		}
		text, ok := object[key].(string)
		if !ok {
			c.problem(join(path, key), quote(object[key])+" is not a string. Upload the file again.")
		}
		out[key] = text
	}
	if object["size"] != nil {
		size, err := wholeNumber(object["size"])
		if err != nil || size < 0 {
			c.problem(join(path, "size"), quote(object["size"])+" is not a number of bytes. Upload the file again.")
			return object
		}
		out["size"] = json.Number(fmt.Sprint(size))
		if most := t.Params.MaxBytes; most != nil && size > *most {
			c.problem(path, fmt.Sprintf("The file has %s. Choose one of up to %s.", units.Bytes(size), units.Bytes(*most)))
		}
	}
	media, _ := out["media_type"].(string)
	if allowed := t.Params.MediaTypes; len(allowed) > 0 && media != "" && !mediaAllowed(allowed, media) {
		c.problem(path, quote(media)+" is not an accepted media type. Choose a file of type "+listed(allowed)+".")
	}
	return out
}

func mediaAllowed(allowed []string, media string) bool {
	media, _, _ = strings.Cut(media, ";")
	return slices.ContainsFunc(allowed, func(a string) bool {
		return a == media || a == "*/*" || strings.HasSuffix(a, "/*") && strings.HasPrefix(media, strings.TrimSuffix(a, "*"))
	})
}

func (k referenceKind) jsonSchema(t *Type) map[string]any { return referenceSchema(t) }

func referenceSchema(t *Type) map[string]any {
	file := map[string]any{"$file": map[string]any{"type": "string", "pattern": "^[0-9a-fA-F]{64}$"},
		"name": map[string]any{"type": "string"}, "size": map[string]any{"type": "integer", "minimum": 0}, "media_type": map[string]any{"type": "string"}}
	if t.Params.MaxBytes != nil {
		file["size"] = map[string]any{"type": "integer", "minimum": 0, "maximum": *t.Params.MaxBytes}
	}
	only := func(key string, properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "properties": properties, "required": []any{key}, "additionalProperties": false}
	}
	text := map[string]any{"type": "string", "pattern": cataloguePattern}
	return map[string]any{"anyOf": []any{
		text,
		only("$catalogue", map[string]any{"$catalogue": text}),
		only("$artifact", map[string]any{"$artifact": map[string]any{"type": "string", "format": "uuid"}}),
		only("$file", file),
	}}
}

func (k referenceKind) ui(t *Type, f *UIField, _ Env) {
	f.Component, f.AutocompleteSource, f.Accept = k.component, k.source, t.Params.MediaTypes
	if k.details != nil {
		k.details(t, f)
	}
}

// decode returns the latest input in the form: a new upload, an entered reference, or an
// earlier upload.
func (k referenceKind) decode(r *formReader, _ *Type, name, path string) (any, bool) {
	if up, ok := r.form.Files[name]; ok {
		return up.value(), true
	}
	for _, control := range []string{name, name + ".$ref"} {
		if text, _ := r.text(control); text != "" {
			return reference(text), true
		}
	}
	text, _ := r.text(name + ".$file")
	if text == "" {
		return nil, false
	}
	v, err := DecodeJSON([]byte(text))
	if err != nil {
		r.problem(path, "The earlier upload cannot be read. Upload the file again.")
		return nil, false
	}
	return v, true
}

func (u UploadRef) value() map[string]any {
	out := map[string]any{"$file": u.SHA256, "name": u.Name, "size": json.Number(fmt.Sprint(u.Size))}
	if u.MediaType != "" {
		out["media_type"] = u.MediaType
	}
	return out
}

func (k referenceKind) encode(_ *Type, v any, name string, out url.Values) {
	text := inputText(v)
	if object, ok := v.(map[string]any); ok {
		if object["$file"] != nil {
			out.Set(name+".$file", compactJSON(object))
			return
		}
		text = inputText(object["$artifact"]) + inputText(object["$catalogue"])
	}
	if !k.picks {
		name += ".$ref"
	}
	out.Set(name, text)
}

func (k referenceKind) render(_ *Type, v any) string {
	object, ok := v.(map[string]any)
	if !ok {
		return inputText(v)
	}
	switch {
	case object["$catalogue"] != nil:
		return inputText(object["$catalogue"])
	case object["$artifact"] != nil:
		return "Artifact " + inputText(object["$artifact"])
	}
	text := inputText(object["name"])
	if text == "" {
		text = "A file"
	}
	if size, err := wholeNumber(object["size"]); err == nil {
		text += " (" + units.Bytes(size) + ")"
	}
	return text
}

func (k referenceKind) accept(t, from *Type) error {
	if from.Kind != t.Kind && !slices.Contains(k.also, from.Kind) {
		return mismatch(t, from)
	}
	if a, b := t.Params.Format, from.Params.Format; a != "" && b != "" && !strings.EqualFold(a, b) {
		return fmt.Errorf("its format is %s, but %s is required", b, a)
	}
	if k.compare != nil && from.Kind == t.Kind {
		return k.compare(t, from)
	}
	return nil
}
