package workflow

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
)

var (
	operatorName    = formOf(`^[A-Za-z][A-Za-z0-9_-]*$`, 63)
	portName        = formOf(`^[A-Za-z_][A-Za-z0-9_]*$`, 64)
	environmentName = formOf(`^[A-Za-z_][A-Za-z0-9_]*$`, 128)
	gpuType         = formOf(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`, 40)
)

func (p *parser) operators(o *object) []Operator {
	items, path := o.list(MaxOperators, "operators")
	if len(items) == 0 {
		if v, _, _ := o.get("operators"); v == nil || len(items) == 0 && isEmptyList(v) {
			o.add(path, "A workflow must have at least one operator.")
		}
	}
	operators := make([]Operator, 0, len(items))
	for i, item := range items {
		operators = append(operators, p.operator(item, fmt.Sprintf("%s[%d]", path, i)))
	}
	last, path := o.list(MaxOperators, "on_exit")
	for i, item := range last {
		op := p.operator(item, fmt.Sprintf("%s[%d]", path, i))
		op.Final = true
		operators = append(operators, op)
	}
	return operators
}

func isEmptyList(v any) bool {
	l, ok := v.([]any)
	return ok && len(l) == 0
}

func (p *parser) operator(v any, path string) Operator {
	o := p.object(v, path)
	if o == nil {
		if v == nil {
			p.add(path, "This operator is empty.")
		}
		return Operator{}
	}
	o.get("operator_id")
	op := Operator{
		Name:        o.name(operatorName, "use up to 63 letters, digits, _ and -"),
		Description: o.text(maxDescription, "description"),
		Inputs:      p.operatorInputs(o),
		Outputs:     p.operatorOutputs(o),
		Parameters:  o.mapping("parameters"),
		Resources:   p.resources(o),
		HTTP:        p.http(o),
		SQL:         p.sql(o),
		Environment: p.environment(o),
		Timeout:     o.duration(0, "timeout"),
		Retry:       p.retry(o),
		Breaker:     p.breaker(o),
		DependsOn:   o.texts(MaxPorts, "depends_on"),
		GracePeriod: o.duration(0, "grace_period"),
		Resident:    o.boolean(false, "resident"),
		Pool:        o.text(maxPoolName, "pool"),
		PoolLabels:  o.textMap("labels"),
		Pod:         o.pod(),
	}
	op.GRPC = readGRPC(p, o)
	readSensor(p, o, &op)
	p.control(o, &op)
	op.NeverPreempt = !o.boolean(true, "preemptible")
	if op.GracePeriod > maxGracePeriod {
		o.add(o.at("grace_period"), "The grace period of a preempted task is at most %s.", units.Compact(maxGracePeriod))
	}
	o.checkPods(&op)
	if slices.Contains([]string{"inputs", LoopItem, LoopIndex}, op.Name) {
		o.add(o.at("name"), "The name %q is reserved in references.", op.Name)
	}
	slices.Sort(op.DependsOn)
	op.DependsOn = slices.Compact(op.DependsOn)
	code, codePath := p.code(o)
	op.Code = code
	p.memo(o, &op)
	p.operatorType(o, &op, codePath)
	o.checkPool(&op)
	if op.Breaker.On() && op.Type != "" && !op.Runs() {
		o.add(o.at("breaker"), "An operator of type %s starts no attempts, so it cannot have a breaker.", op.Type)
	}
	p.checkMemo(o, &op)
	o.fresh(&op)
	o.finish()
	return op
}

// operatorType reads the type and calls the check of its section.
func (p *parser) operatorType(o *object, op *Operator, codePath string) {
	names := strings.Join(OperatorTypeNames(), ", ")
	v, path, _ := o.get("type")
	label, labelPath, labelled := o.get("operator_type")
	switch op.Label = labelOf(p.textValue(label, labelPath, 200)); {
	case op.Label != "" && v == nil:
		v, path = string(op.typeOfCode()), labelPath
	case labelled && op.Label == "" && v == nil:
		v, path = label, labelPath
	case labelled && op.Label == "":
		o.add(labelPath, "This is an alias of %s; keep only one of them.", path)
	}
	text := p.textValue(v, path, 200)
	entry, ok := OperatorType(text).entry()
	if !ok {
		if v == nil {
			p.add(path, "Set the type of the operator: %s.", names)
		} else if text != "" {
			p.add(path, "Unknown operator type %q; the types are %s.", shorten(text, 60), names)
		}
		return
	}
	op.Type = entry.name
	if op.GRPC != nil && op.Type != TypeGRPC {
		o.add(o.at("grpc"), "Only operators of type grpc have this section.")
	}
	if op.Sensor != nil && op.Type != TypeSensor {
		o.add(o.at("sensor"), "Only operators of type sensor have this section.")
	}
	if op.SQL != nil && op.Type != TypeSQL && op.Sensor == nil {
		o.add(o.at("sql"), "Only operators of type sql have this section.")
	}
	entry.check(&sectionCheck{problems: p.problems, op: op, path: o.path, codePath: codePath})
}

// name reads a name and checks its form; an ill-formed one is reported and kept,
// so that references to it still resolve.
func (o *object) name(pattern form, rule string) string {
	v, path, _ := o.get("name")
	if v == nil {
		o.add(path, "This must have a name.")
		return ""
	}
	name := o.textValue(v, path, 500)
	if _, isText := v.(string); isText && !pattern.MatchString(name) {
		o.add(path, "The name %q is not valid: %s.", shorten(name, 60), rule)
	}
	return name
}

const portRule = "use a letter or _, followed by letters, digits and _, at most 64 characters"

// ports reads a list of named things, and rejects names that differ only in case,
// because they become files and environment variables.
func ports[T any](p *parser, o *object, read func(*object) T, name func(T) string, names ...string) []T {
	items, path := o.list(MaxPorts, names...)
	var out []T
	seen := map[string]int{}
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", path, i)
		inner := p.object(item, at)
		if inner == nil {
			if item == nil {
				p.add(at, "This entry is empty.")
			}
			continue
		}
		port := read(inner)
		inner.finish()
		out = append(out, port)
		if key := strings.ToLower(name(port)); key != "" {
			if first, taken := seen[key]; taken {
				p.add(at+".name", "The name %q is already used by %s[%d].", name(port), path, first)
				continue
			}
			seen[key] = i
		}
	}
	return out
}

func (p *parser) operatorInputs(o *object) []Input {
	return ports(p, o, func(i *object) Input {
		in := Input{Name: i.name(portName, portRule), Description: i.text(maxDescription, "description")}
		in.Type = p.typeOf(i)
		in.Source = p.source(i)
		p.noChannel(i)
		return in
	}, func(in Input) string { return in.Name }, "inputs")
}

func (p *parser) operatorOutputs(o *object) []OperatorOutput {
	return ports(p, o, func(i *object) OperatorOutput {
		out := OperatorOutput{Name: i.name(portName, portRule), Description: i.text(maxDescription, "description")}
		if out.Type = p.typeOf(i); out.Type == nil {
			if v, path, _ := i.get("type"); v == nil {
				p.add(path, "Set the type of the output.")
			}
		}
		out.Storage = p.storage(i, out.Type)
		p.noChannel(i)
		return out
	}, func(out OperatorOutput) string { return out.Name }, "outputs")
}

// typeOf parses the type at "type"; nil when it is missing or not valid.
func (p *parser) typeOf(o *object) *typeregistry.Type {
	raw, path, _ := o.get("type")
	if raw == nil {
		return nil
	}
	expression, isText := raw.(string)
	if t, known := p.types[expression]; isText && known {
		return t
	}
	t, err := p.registry.ParseNode(raw)
	if err != nil {
		p.add(path, "%s", sentence(err.Error()))
		p.unreadable[o.path] = true
		return nil
	}
	if isText {
		p.types[expression] = t
	}
	return t
}

// source reads from, value or the other spellings in "source".
func (p *parser) source(o *object) Source {
	value, _, literal := o.get("value")
	from, path, referenced := o.get("from", "source")
	formula, at, computed := o.get("expression")
	switch {
	case literal && referenced || computed && (literal || referenced):
		p.add(path, "Set one of from, value and expression.")
	case computed:
		return p.formula(formula, at)
	case literal:
		return Source{Kind: SourceLiteral, Value: value}
	case !referenced || from == nil:
		p.add(o.at("from"), "Set the source of the value: from: inputs.<name>, from: <operator>.<output>, value: <literal>, or expression: <expression>.")
	default:
		return p.reference(from, path)
	}
	return Source{}
}

// reference reads "inputs.x", "operator.output" or the mapping forms
// {operator, output}, {future}, {input} and {literal}.
func (p *parser) reference(v any, path string) Source {
	if _, isMapping := v.(map[string]any); isMapping {
		return p.referenceMapping(p.object(v, path))
	}
	text := p.textValue(v, path, 200)
	operator, output, ok := strings.Cut(text, ".")
	switch {
	case text == "":
	case text == LoopIndex:
		return Source{Kind: SourceIndex}
	case text == LoopItem, operator == LoopItem && ok:
		return Source{Kind: SourceItem, Field: output}
	case !ok || !portName.MatchString(output):
		p.add(path, "Write inputs.<name> or <operator>.<output>, not %q.", shorten(text, 60))
	case operator == "inputs":
		return Source{Kind: SourceInput, Input: output}
	default:
		return Source{Kind: SourceFuture, Future: Reference{Operator: operator, Output: output}}
	}
	return Source{}
}

func (p *parser) referenceMapping(o *object) Source {
	defer o.finish()
	if v, _, ok := o.get("literal", "value"); ok {
		return Source{Kind: SourceLiteral, Value: v}
	}
	if v, path, ok := o.get("future"); ok {
		if text, isText := v.(string); isText {
			return p.reference(text, path)
		}
		return p.referenceMapping(&object{problems: o.problems, path: path, values: asMapping(v)})
	}
	if input := o.text(200, "input", "workflow_input"); input != "" {
		return Source{Kind: SourceInput, Input: input}
	}
	ref := Reference{Operator: o.text(200, "operator"), Output: o.text(200, "output")}
	if ref.Operator == "" || ref.Output == "" {
		o.add(o.path, "Name the operator and its output, an input, or a literal.")
		return Source{}
	}
	return Source{Kind: SourceFuture, Future: ref}
}

func asMapping(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func (p *parser) resources(parent *object) Resources {
	v, at, _ := parent.get("resources", "resource_requirements")
	o := p.object(v, at)
	if o == nil {
		return Resources{}
	}
	defer o.finish()
	r := Resources{
		CPUMillis: o.cpu("cpu", "cpu_cores"),
		GPUs:      o.whole(0, 0, maxGPUs, "gpu", "gpu_count"),
		GPUType:   o.text(100, "gpu_type"),
		Network:   o.text(100, "network_bandwidth"),
		Pods:      o.whole(0, 0, maxPods, "pods"),
		Spread:    o.boolean(false, "spread"),
	}
	if r.Pods == 1 {
		r.Pods = 0
	}
	r.MemoryMiB, r.ShmMiB = max(o.size(0, "memory"), o.size(1024, "memory_gb")), o.size(0, "shm")
	r.StorageMiB = max(o.size(0, "storage"), o.size(1024, "storage_gb"))
	if r.GPUType != "" && r.GPUs == 0 {
		o.add(o.at("gpu_type"), "A GPU type without a number of GPUs has no effect; add gpu: 1.")
	}
	if r.GPUType != "" && !gpuType.MatchString(r.GPUType) {
		o.add(o.at("gpu_type"), "A GPU type is a name such as A100: letters, digits, _, . and -, at most 40.")
	}
	if r.Spread && r.GPUs == 0 {
		o.add(o.at("spread"), "Only GPUs can be spread over machines; add gpu: 2 or more.")
	}
	return r
}

// code reads the code section and returns its path.
func (p *parser) code(parent *object) (Code, string) {
	v, at, _ := parent.get("code", "code_package")
	if name, isText := v.(string); isText {
		v = map[string]any{"package": name}
	}
	o := p.object(v, at)
	if o == nil {
		return Code{}, at
	}
	defer o.finish()
	c := Code{
		Command:      o.texts(1000, "command"),
		Args:         o.texts(1000, "args"),
		Script:       o.text(1<<20, "script"),
		File:         o.text(1000, "file"),
		Package:      o.text(1000, "package"),
		Image:        o.text(500, "image"),
		Requirements: o.texts(200, "requirements"),
	}
	for i, r := range c.Requirements {
		if strings.TrimSpace(r) == "" || strings.ContainsAny(r, "\r\n") || strings.HasPrefix(r, "-") {
			p.add(fmt.Sprintf("%s[%d]", o.at("requirements"), i), "This must be one requirement such as numpy==2.1.0.")
		}
	}
	return c, at
}

// localPath reports whether a slash-separated path stays below its folder.
func localPath(name string) bool {
	return !path.IsAbs(name) && path.Clean(name) != ".." && !strings.HasPrefix(path.Clean(name), "../") && !strings.Contains(name, `\`)
}

func (p *parser) environment(o *object) map[string]string {
	env := o.textMap("environment", "env")
	for _, name := range slices.Sorted(maps.Keys(env)) {
		at := o.at("environment") + "." + shorten(name, 60)
		switch {
		case !environmentName.MatchString(name):
			p.add(at, "This is not a name for an environment variable.")
		case strings.HasPrefix(name, "FLOWFORGE_"):
			p.add(at, "Names that begin with FLOWFORGE_ are reserved for the task contract.")
		}
	}
	return env
}
