package workflow

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/typeregistry"
)

const (
	maxDescription = 20_000
	maxTags        = 50
)

var (
	workflowName = formOf(`^[a-z0-9][a-z0-9._-]*$`, 128)
	teamName     = formOf(`^[A-Za-z0-9][A-Za-z0-9._-]*$`, 100)
	tagPattern   = formOf(`^[a-z0-9][a-z0-9._:/-]*$`, 63)
)

// parser is the state of parsing one document.
type parser struct {
	*problems
	registry *typeregistry.Registry
	types    map[string]*typeregistry.Type // expressions seen before; types never change
	// unreadable marks the paths whose invalid type was already reported, so that no
	// further problems are.
	unreadable map[string]bool
}

// Parse reads a definition in YAML or JSON and checks all of it: form, types,
// references, the types along every edge, and cycles. It reports every problem
// with its path in the document; then the definition is nil. The spellings of
// the design document (input_schema, operator_type, source, resource_requirements,
// retry_policy, code_package …) are accepted for the native ones.
func Parse(doc []byte, registry *typeregistry.Registry) (*Definition, []apperr.Field) {
	tree, err := decodeDocument(doc)
	if err != nil {
		return nil, []apperr.Field{{Path: "document", Message: messageOf(err)}}
	}
	p := &parser{problems: &problems{}, registry: registry, types: map[string]*typeregistry.Type{}, unreadable: map[string]bool{}}
	d := p.definition(tree)
	if d != nil {
		p.link(d)
		_, cycles := d.Compile()
		p.append(cycles...)
	}
	if found := p.fields(); len(found) > 0 {
		return nil, found
	}
	return d, nil
}

func messageOf(err error) string {
	if e, ok := errors.AsType[*documentError](err); ok {
		return e.message
	}
	return sentence(err.Error())
}

func (p *parser) definition(tree any) *Definition {
	if _, isMapping := tree.(map[string]any); !isMapping {
		p.add("document", "A definition must be a mapping with name, version and operators.")
		return nil
	}
	o := p.object(tree, "")
	for _, set := range []string{"workflow_id", "version_id", "created_at", "updated_at"} {
		o.get(set) // the server sets these; a definition fetched from it contains them
	}
	d := &Definition{
		Name:        o.name(workflowName, "use up to 128 lower-case letters, digits, . _ and -, beginning with a letter or digit"),
		Version:     p.version(o),
		OwnerTeam:   o.text(100, "owner_team"),
		Description: o.text(maxDescription, "description"),
		Tags:        p.tags(o),
		Metadata:    o.mapping("metadata"),
	}
	if d.OwnerTeam != "" && !teamName.MatchString(d.OwnerTeam) {
		o.add("owner_team", "A team name can have up to 100 letters, digits, . _ and -.")
	}
	main := p.graph(o)
	d.Inputs, d.Outputs, d.Operators, d.Parallelism = main.Inputs, main.Outputs, main.Operators, main.Parallelism
	d.Graphs = p.graphs(o)
	d.RetryBudget, d.TTL = p.retryBudget(o), p.ttl(o)
	d.Timeout, d.MaxDepth = o.duration(0, "timeout"), o.whole(0, 0, maxDepthOfGraphs, "max_depth")
	d.Locks, d.MaxRunning = p.locks(o), o.whole(0, 0, maxPermits, "max_running")
	d.Schedules = p.schedules(o)
	o.finish()
	return d
}

func (p *parser) version(o *object) string {
	v, path, _ := o.get("version")
	if v == nil {
		o.add(path, "A definition must have a version, such as 1.0.0.")
		return ""
	}
	text := p.textValue(v, path, 200)
	if text == "" {
		return ""
	}
	if _, err := parseVersion(text); err != nil {
		o.add(path, "%s", sentence(err.Error()))
	}
	return text
}

func (p *parser) tags(o *object) []string {
	tags := o.texts(maxTags, "tags")
	for i, tag := range tags {
		tags[i] = strings.ToLower(tag)
		if !tagPattern.MatchString(tags[i]) {
			o.add(fmt.Sprintf("%s[%d]", o.at("tags"), i), "A tag can have up to 63 letters, digits and . _ : / -.")
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

func (p *parser) inputs(o *object) typeregistry.Schema {
	raw, path, _ := o.get("inputs", "input_schema")
	if raw == nil {
		return typeregistry.Schema{}
	}
	schema, found := p.registry.ParseSchema(raw, path)
	p.append(found...)
	if len(schema.Fields) > MaxPorts {
		p.add(path, "There are %d inputs; at most %d are allowed.", len(schema.Fields), MaxPorts)
	}
	for _, f := range schema.Fields {
		if f.Name != "" && !portName.MatchString(f.Name) {
			p.add(path+"."+shorten(f.Name, 60), "The name %q is not valid: %s.", shorten(f.Name, 60), portRule)
		}
	}
	return schema
}

// outputs reads a list, or the mapping {fields: [...]} of the design document.
func (p *parser) outputs(o *object) []Output {
	read := func(i *object) Output {
		out := Output{Name: i.name(portName, portRule), Description: i.text(maxDescription, "description"), Type: p.typeOf(i)}
		from, path, _ := i.get("from", "source")
		if formula, at, computed := i.get("expression"); computed {
			if from != nil {
				p.add(path, "Set one of from and expression.")
			}
			out.Source = p.formula(formula, at)
			return out
		}
		if from == nil {
			return out
		}
		source := p.reference(from, path)
		switch source.Kind {
		case SourceFuture:
			out.From = source.Future
		default:
			p.add(path, "A workflow output must be an output of one of its operators.")
		}
		return out
	}
	raw, path, _ := o.get("outputs", "output_schema")
	name := func(out Output) string { return out.Name }
	schema, isMapping := raw.(map[string]any)
	if !isMapping {
		return ports(p, o, read, name, "outputs", "output_schema")
	}
	inner := p.object(schema, path)
	inner.get("required_fields")
	inner.get("validators")
	defer inner.finish()
	return ports(p, inner, read, name, "fields")
}

// sentence makes an error message begin with a capital and end with a full stop.
func sentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return "It is not valid."
	}
	s = string(unicode.ToUpper(first)) + s[size:]
	if !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "?") {
		s += "."
	}
	return s
}
