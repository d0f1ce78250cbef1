package typeregistry

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// featureSetKind is FeatureSet: a set of the feature store and the features
// chosen from it: {"feature_set": "name@version", "features": ["a", "b"]}.
// Without features it is the whole set. {"feature_store_ref": "fs://name/v2"} and
// a bare reference are read too, and artifacts as for every reference.
type featureSetKind struct{ referenceKind }

func (featureSetKind) entry() Entry {
	return Entry{Name: "FeatureSet", Group: "data", Summary: "Features from the feature store, by entity and time.",
		Example: `FeatureSet(entity_key="user_id", features=[age: Integer, embedding: Float[64]])`}
}

func (featureSetKind) params() []parameter {
	return []parameter{
		columnsParam("features", "The required features, with data types, dimensions and statistics.", func(p *Params) *[]Column { return &p.Features }),
		textParam("entity_key", "The key for feature lookup.", func(p *Params) *string { return &p.EntityKey }),
		textParam("timestamp_key", "The timestamp column, for point-in-time values.", func(p *Params) *string { return &p.TimestampKey }),
	}
}

func (featureSetKind) composite(*Type) bool { return true }
func (featureSetKind) noun(*Type) string    { return "a feature set" }
func (featureSetKind) hint(*Type) string    { return "Choose a feature set, such as name@version." }

func (featureSetKind) entryRules() []Validator {
	return []Validator{{Rule: "exists", Error: "There is no such feature set. Choose one from the list."}}
}

var storePath = regexp.MustCompile(`^(.+)/(v?[0-9][A-Za-z0-9._+-]*)$`)

// storeReference reads "fs://news_feed/user_features/v2".
func storeReference(text string) string {
	rest, ok := strings.CutPrefix(text, "fs://")
	if !ok {
		return text
	}
	if m := storePath.FindStringSubmatch(rest); m != nil {
		return m[1] + "@" + m[2]
	}
	return rest
}

func (k featureSetKind) normalize(c *checker, t *Type, path string, v any) any {
	if text, ok := v.(string); ok {
		v = map[string]any{"feature_set": text}
	}
	object, ok := v.(map[string]any)
	if !ok {
		return c.wrong(t, path, v)
	}
	object = maps.Clone(object)
	features, chosen := object["features"]
	delete(object, "features")
	ref := object["feature_set"]
	for _, key := range []string{"feature_store_ref", "$catalogue"} {
		if ref == nil {
			ref = object[key]
			delete(object, key)
		}
	}
	out, _ := k.locate(c, t, path, object, ref).(map[string]any)
	if chosen && features != nil {
		if out == nil {
			out = map[string]any{}
		}
		out["features"] = k.features(c, t, join(path, "features"), features)
	}
	return out
}

// locate checks the location of the features: a named set or a stored file.
func (k featureSetKind) locate(c *checker, t *Type, path string, object map[string]any, ref any) any {
	if ref == nil {
		out, _ := k.normalizeReference(c, t, path, object).(map[string]any)
		return out
	}
	refuseUnknown(c, path, object, "feature_set")
	text, ok := ref.(string)
	text = storeReference(strings.TrimSpace(text))
	if artifact, isArtifact := reference(text)["$artifact"]; isArtifact {
		return map[string]any{"$artifact": artifact}
	}
	if !ok || !catalogueReference.MatchString(text) {
		c.problem(path, sentence(quote(ref)+" is not the name of a feature set.", k.hint(t)))
	} else {
		c.exists(t, path, text)
	}
	return map[string]any{"feature_set": text}
}

func (featureSetKind) features(c *checker, t *Type, path string, v any) any {
	list, ok := v.([]any)
	if !ok {
		c.problem(path, quote(v)+" is not a list of features. Choose features of the set.")
		return v
	}
	known := make([]string, len(t.Params.Features))
	for i, f := range t.Params.Features {
		known[i] = f.Name
	}
	seen := map[any]bool{}
	for i, e := range list {
		name, isText := e.(string)
		at := join(path, fmt.Sprint(i))
		switch {
		case !isText || name == "":
			c.problem(at, quote(e)+" is not the name of a feature. Choose features of the set.")
			continue
		case len(known) > 0 && !slices.Contains(known, name):
			c.problem(at, "There is no feature "+quote(name)+" here. Choose "+listed(known)+".")
		case seen[name]:
			c.problem(at, quote(name)+" is selected twice. Remove one.")
		}
		seen[name] = true
	}
	return list
}

func (featureSetKind) jsonSchema(t *Type) map[string]any {
	feature := map[string]any{"type": "string", "minLength": 1}
	if len(t.Params.Features) > 0 {
		var names []any
		for _, f := range t.Params.Features {
			names = append(names, f.Name)
		}
		feature = map[string]any{"enum": names}
	}
	features := map[string]any{"type": []any{"array", "null"}, "items": feature, "uniqueItems": true}
	out := referenceSchema(t)
	alternatives, _ := out["anyOf"].([]any)
	for _, alternative := range alternatives {
		if object, ok := alternative.(map[string]any); ok && object["properties"] != nil {
			object["properties"].(map[string]any)["features"] = features
		}
	}
	text := map[string]any{"type": "string", "pattern": cataloguePattern}
	stored := map[string]any{"type": "string", "pattern": `^fs://[A-Za-z0-9][A-Za-z0-9._/+-]*$|` + cataloguePattern}
	for _, key := range []string{"feature_set", "feature_store_ref"} {
		ref := map[string]map[string]any{"feature_set": text, "feature_store_ref": stored}[key]
		alternatives = append(alternatives, map[string]any{"type": "object", "required": []any{key}, "additionalProperties": false,
			"properties": map[string]any{key: ref, "features": features}})
	}
	return map[string]any{"anyOf": append(alternatives, stored)}
}

func (featureSetKind) ui(t *Type, f *UIField, _ Env) {
	f.Component, f.AutocompleteSource, f.MultiSelect = "FeatureSetSelector", "/api/v1/feature-store/feature-sets", true
	for _, feature := range t.Params.Features {
		f.Options = append(f.Options, Option{Value: feature.Name})
	}
	f.Filters = filters("entity_key", t.Params.EntityKey)
}

func (k featureSetKind) decode(r *formReader, t *Type, name, path string) (any, bool) {
	v, present := k.referenceKind.decode(r, t, name, path)
	object, _ := v.(map[string]any)
	if ref, ok := object["$catalogue"]; ok {
		object = map[string]any{"feature_set": ref}
	}
	features := []any{}
	for _, names := range r.form.Values[name+".features"] {
		for feature := range strings.SplitSeq(names, ",") {
			if feature = strings.TrimSpace(feature); feature != "" {
				features = append(features, feature)
			}
		}
	}
	if _, given := r.form.Values[name+".features"]; given {
		if object == nil {
			object = map[string]any{}
		}
		object["features"] = features
	}
	return object, present || len(features) > 0
}

func (k featureSetKind) encode(t *Type, v any, name string, out url.Values) {
	object, ok := v.(map[string]any)
	if !ok {
		k.referenceKind.encode(t, v, name, out)
		return
	}
	object = maps.Clone(object)
	if features, ok := object["features"].([]any); ok {
		out[name+".features"] = []string{}
		for _, feature := range features {
			out.Add(name+".features", inputText(feature))
		}
		if len(features) == 0 {
			out.Set(name+".features", "")
		}
	}
	delete(object, "features")
	if ref, ok := object["feature_set"]; ok {
		object = map[string]any{"$catalogue": ref}
	}
	k.referenceKind.encode(t, object, name, out)
}

func (featureSetKind) control(_ *formReader, _ *Type, name string, segments []string) string {
	if len(segments) > 0 && segments[0] == "features" {
		return name + ".features"
	}
	return name
}

func (k featureSetKind) render(t *Type, v any) string {
	object, ok := v.(map[string]any)
	if !ok {
		return inputText(v)
	}
	text := inputText(object["feature_set"])
	if text == "" {
		text = k.referenceKind.render(t, v)
	}
	if features, ok := object["features"].([]any); ok {
		text += ": " + renderSome(len(features), func(i int) string { return inputText(features[i]) })
	}
	return text
}

func (featureSetKind) accept(t, from *Type) error {
	if from.Kind != KindFeatureSet {
		return mismatch(t, from)
	}
	if a, b := t.Params.EntityKey, from.Params.EntityKey; a != "" && b != "" && a != b {
		return fmt.Errorf("its entity key is %s, but %s is required", b, a)
	}
	return columnsWithin(t.Params.Features, from.Params.Features)
}
