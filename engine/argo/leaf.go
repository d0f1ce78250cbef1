package argo

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
)

// Names of the engine for inputs and outputs that are not parameters (see execution.ResultPort).
const (
	resultPort   = "outputs.result"
	artifactPort = "artifacts."
)

var (
	taskName       = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)
	ruleTerm       = regexp.MustCompile(`[A-Za-z0-9_-]+(\.[A-Za-z]+)?`)
	sequenceFormat = regexp.MustCompile(`^[^%]*%[0-9 +#-]*[dxXob][^%]*$`)
)

// checkTemplate checks that a template has one kind, and unique inputs.
func (l *leaves) checkTemplate(s *source) {
	kinds := 0
	for _, is := range []bool{s.Container != nil, s.Script != nil, s.Steps != nil, s.DAG != nil, s.Suspend != nil, s.HTTP != nil, s.ContainerSet != nil, s.Resource != nil, s.Data != nil, s.Plugin != nil} {
		if is {
			kinds++
		}
	}
	l.refuse(kinds != 1, s.path, "A template is one of container, script, containerSet, steps, dag, suspend and http; this is %s.", numberOf(kinds))
	l.checkDaemon(s)
	names := map[string]bool{}
	for i, p := range s.Inputs.Parameters {
		l.refuse(p.Name == "" || names[p.Name], fmt.Sprintf("%s.inputs.parameters[%d].name", s.path, i), "An input must have a unique name.")
		names[p.Name] = true
	}
}

func numberOf(kinds int) string {
	if kinds == 0 {
		return "none"
	}
	return "several"
}

// leaf builds the operator of a template that runs something itself.
func (l *leaves) leaf(run *task, s *source, in scope, at string) workflow.Operator {
	own := scope{own: s, leaf: true}
	op := workflow.Operator{Tags: &workflow.Tags{Names: map[string]string{}, Open: l.keepsAll(s)}, Outputs: l.values.ownOutputs(s, own)}
	l.refuse(s.Parallelism != nil, s.path+".parallelism", "Only templates of steps or tasks have parallelism.")
	l.policies.set(&op, s)
	op.Cache = l.policies.memo(s)
	op.Serves = s.serves()
	for _, a := range s.Inputs.Artifacts {
		op.Tags.Names["inputs.artifacts."+a.Name+".path"] = a.Path
	}
	for i, p := range s.Outputs.Parameters {
		if p.ValueFrom != nil && p.ValueFrom.Path != "" {
			op.Tags.Names["outputs.parameters."+p.Name+".path"] = p.ValueFrom.Path
			l.checks.checkPath(p.ValueFrom.Path, own, fmt.Sprintf("%s.outputs.parameters[%d].valueFrom.path", s.path, i))
		}
	}
	for i, a := range s.Outputs.Artifacts {
		op.Tags.Names["outputs.artifacts."+a.Name+".path"] = a.Path
		l.checks.checkPath(a.Path, own, fmt.Sprintf("%s.outputs.artifacts[%d].path", s.path, i))
	}
	switch {
	case s.Container != nil:
		l.process(&op, s, s.Container, s.path+".container", own)
	case s.Script != nil:
		l.process(&op, s, s.Script, s.path+".script", own)
	case s.ContainerSet != nil:
		l.containerSet(&op, s, own)
	case s.Suspend != nil:
		l.approval(&op, s)
	case s.HTTP != nil:
		l.request(&op, s, own)
	}
	if in.unused { // the problems of its inputs would not be found otherwise
		l.values.taskInputs(run, s, in, at)
	}
	return op
}

func (c *checks) checkPath(name string, in scope, at string) {
	c.checkText(name, in, at)
	if !path.IsAbs(name) && !strings.HasPrefix(name, "{{") {
		c.add(at, "This must be an absolute path.")
	}
}

// process makes op run a container or a script.
func (l *leaves) process(op *workflow.Operator, s *source, c *container, at string, own scope) {
	op.Type, op.CodeAt = workflow.TypeCommand, at
	op.Code = workflow.Code{Image: c.Image, Command: texts(c.Command), Args: texts(c.Args), Folder: c.WorkingDir}
	l.refuse(c.Image == "", at+".image", "Set the image.")
	if s.Script != nil {
		l.refuse(len(c.Command) == 0 && c.Source != "", at+".command", "Set command, the interpreter of the script.")
		op.Code.Script = c.Source // without a source, a script is a container
	} else {
		l.refuse(c.Source != "", at+".source", "A container has no source; make it a script.")
	}
	l.checks.checkText(c.Image, own, at+".image")
	l.checks.checkText(c.Source, own, at+".source")
	l.checks.checkText(c.WorkingDir, own, at+".workingDir")
	l.checks.checkTexts(op.Code.Command, own, at+".command")
	l.checks.checkTexts(op.Code.Args, own, at+".args")
	op.Environment, op.Code.Variables = map[string]string{}, []string{}
	for i, e := range c.Env {
		where := fmt.Sprintf("%s.env[%d]", at, i)
		op.Code.Variables = append(op.Code.Variables, e.Name)
		l.refuse(strings.HasPrefix(e.Name, "FLOWFORGE_"), where+".name", "Names that begin with FLOWFORGE_ are reserved for the task contract.")
		if e.ValueFrom == nil {
			l.checks.checkText(string(e.Value), own, where+".value")
			op.Environment[e.Name] = string(e.Value)
		}
	}
	op.Resources = l.pods.resources(s, c, at)
	op.Pod, op.Host = l.pods.pod(s, c, at, own), l.pods.host(s, c, at)
}

func texts(list []Text) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, text := range list {
		out[i] = string(text)
	}
	return out
}

// ownOutputs returns the outputs of a template that runs something itself.
func (vs *values) ownOutputs(s *source, own scope) []workflow.OperatorOutput {
	var outputs []workflow.OperatorOutput
	if s.Suspend != nil {
		return vs.answers(s)
	}
	for i, p := range s.Outputs.Parameters {
		at := fmt.Sprintf("%s.outputs.parameters[%d]", s.path, i)
		o := workflow.OperatorOutput{Name: p.Name, Type: vs.text, Description: string(p.Description), Storage: workflow.StorageDisk}
		if p.GlobalName != "" {
			vs.checks.checkText(p.GlobalName, scope{own: s}, s.path+".outputs")
			o.Global = "parameters." + p.GlobalName
		}
		o.Default = p.whenSkipped()
		switch {
		case p.ValueFrom != nil && p.ValueFrom.Path != "":
			if o.Path = p.ValueFrom.Path; p.ValueFrom.Default != nil {
				text := string(*p.ValueFrom.Default)
				vs.checks.checkText(text, own, at+".valueFrom.default")
				o.Else, o.Type = &text, vs.optional(vs.text)
			}
		case p.ValueFrom != nil && p.ValueFrom.Supplied != nil:
			vs.add(at+".valueFrom.supplied", "Only a suspend template accepts supplied values.")
		default:
			tagged, ok := vs.outputValue(p, own, at)
			if !ok {
				continue
			}
			o.Source = workflow.Source{Kind: workflow.SourceTags, Tagged: tagged}
		}
		outputs = append(outputs, o)
	}
	for i, a := range s.Outputs.Artifacts {
		at := fmt.Sprintf("%s.outputs.artifacts[%d]", s.path, i)
		o := workflow.OperatorOutput{Name: artifactPort + a.Name, Type: vs.file, Path: a.Path, Storage: workflow.StorageDisk}
		vs.refuse(a.From != "" || a.FromExpression != "", at+".from", "Only steps and tasks can pass on artifacts; write the file to a path.")
		vs.refuse(a.Raw != nil || a.Git != nil, at, "FlowForge stores files itself; omit the location, or set an s3 key.")
		vs.refuse(a.SubPath != "", at+".subPath", "Write the path of the file itself.")
		o.GC = vs.sources.gcOf(a, at)
		switch {
		case a.inBucket() || a.HTTP != nil:
			vs.sources.bucketOutput(&o, a, own, at)
		case a.S3 != nil:
			vs.checks.checkText(a.S3.Key, own, at+".s3.key")
			o.Key = a.S3.Key
		}
		if a.Optional {
			o.Type = vs.optional(vs.file)
		}
		if a.GlobalName != "" {
			vs.checks.checkText(a.GlobalName, scope{own: s}, s.path+".outputs")
			o.Global = "artifacts." + a.GlobalName
		}
		outputs = append(outputs, o)
	}
	if s.serves() {
		return vs.lastOutputs(outputs)
	}
	if vs.results && !(vs.keepsAll(s) && vs.declares(s, "result")) {
		outputs = append(outputs, workflow.OperatorOutput{Name: resultPort, Type: vs.optional(vs.text), Stdout: true, Storage: workflow.StorageDisk})
	}
	return outputs
}

// answers returns the outputs of a suspend template.
func (vs *values) answers(s *source) []workflow.OperatorOutput {
	var outputs []workflow.OperatorOutput
	for i, p := range s.Outputs.Parameters {
		if p.ValueFrom == nil || p.ValueFrom.Supplied == nil {
			vs.add(fmt.Sprintf("%s.outputs.parameters[%d].valueFrom", s.path, i), "The outputs of a suspend template must have valueFrom.supplied: {}.")
			continue
		}
		o := workflow.OperatorOutput{Name: p.Name, Type: vs.text, Storage: workflow.StorageDisk, Default: p.whenSkipped()}
		if p.GlobalName != "" {
			vs.checks.checkText(p.GlobalName, scope{own: s}, s.path+".outputs")
			o.Global = "parameters." + p.GlobalName
		}
		outputs = append(outputs, o)
	}
	return outputs
}

// approval makes op wait for a user, as a suspend template.
func (l *leaves) approval(op *workflow.Operator, s *source) {
	op.Type = workflow.TypeApproval
	var fields []any
	defaults := map[string]any{}
	for _, p := range s.Outputs.Parameters {
		shown := p
		for _, in := range s.Inputs.Parameters {
			if in.Name == p.Name {
				shown = in
			}
		}
		value := cmp.Or(shown.Value, shown.Default)
		if value == nil && p.ValueFrom != nil {
			value = p.ValueFrom.Default
		}
		if value != nil && strings.Contains(string(*value), "{{") {
			value = nil
		}
		if value != nil {
			defaults[p.Name] = string(*value)
		}
		fields = append(fields, formField(shown, value))
	}
	schema, found := l.types.ParseSchema(fields, s.path+".outputs.parameters")
	l.append(found)
	for i, f := range schema.Fields {
		if i < len(op.Outputs) {
			op.Outputs[i].Type = f.Type
		}
	}
	op.Approval = &workflow.Approval{Form: schema, Message: string(s.Metadata.Annotations["message"])}
	if s.Suspend.Duration == "" {
		return
	}
	l.refuse(len(defaults) < len(fields), s.path+".suspend.duration", "Each supplied value needs a default, which applies after the timeout.")
	op.Approval.Default = defaults
}

// request makes op send a request, as an http template.
func (l *leaves) request(op *workflow.Operator, s *source, own scope) {
	at := s.path + ".http"
	h := s.HTTP
	op.Type = workflow.TypeHTTP
	op.HTTP = &workflow.HTTP{Method: cmp.Or(h.Method, "GET"), URL: h.URL, Body: h.Body, Headers: map[string]string{}}
	l.checks.checkText(h.URL, own, at+".url")
	l.checks.checkText(h.Body, own, at+".body")
	l.refuse(h.URL == "", at+".url", "Set url.")
	for i, header := range h.Headers {
		l.checks.checkText(header.Value, own, fmt.Sprintf("%s.headers[%d].value", at, i))
		op.HTTP.Headers[header.Name] = header.Value
	}
	if h.SuccessCondition != "" {
		l.successCondition(op, h.SuccessCondition, at+".successCondition")
	}
}

// successCondition reads when a response counts as a success: as status codes if the condition
// reads nothing else, or as a condition on the response.
func (l *leaves) successCondition(op *workflow.Operator, condition, at string) {
	e, err := expression.ParseArgo(condition)
	if err != nil {
		l.add(at, "%s", err)
		return
	}
	codesAlone := true
	for _, r := range e.References() {
		name := strings.Join(r.Path[:min(len(r.Path), 2)], ".")
		if name != "response.statusCode" && name != "response.body" && name != "response.headers" {
			l.add(at, "A condition can read response.statusCode, response.body and response.headers, but not %s.", strings.Join(r.Path, "."))
			return
		}
		codesAlone = codesAlone && name == "response.statusCode"
	}
	if codesAlone {
		op.HTTP.Success = l.successCodes(e, at)
		return
	}
	op.HTTP.Condition = e
	for code := 100; code < 600; code++ {
		op.HTTP.Success = append(op.HTTP.Success, code)
	}
	status, headers := workflow.HTTPOutputs()
	kept := []workflow.OperatorOutput{
		{Name: resultPort, Type: l.optional(l.text), Stdout: true, Storage: workflow.StorageDisk},
		{Name: status, Type: l.typed("Integer"), Storage: workflow.StorageDisk},
		{Name: headers, Type: l.typed("JSON"), Storage: workflow.StorageDisk},
	}
	for _, o := range kept {
		if !slices.ContainsFunc(op.Outputs, func(own workflow.OperatorOutput) bool { return own.Name == o.Name }) {
			op.Outputs = append(op.Outputs, o)
		}
	}
}

func (t *translation) typed(name string) *typeregistry.Type {
	of, _ := t.types.Parse(name)
	return of
}

// successCodes returns the status codes that meet a condition.
func (l *leaves) successCodes(e *expression.Expression, at string) []int {
	var codes []int
	for code := 100; code < 600; code++ {
		ok, err := e.Bool(map[string]any{"response": map[string]any{"statusCode": code}})
		if err != nil {
			l.add(at, "%s", err)
			return nil
		}
		if ok {
			codes = append(codes, code)
		}
	}
	l.refuse(len(codes) == 0, at, "No status code meets this condition.")
	return codes
}

// timeout returns the time limit of an attempt of a template, or of a user's answer.
func (p *policies) timeout(s *source) time.Duration {
	switch {
	case s.Suspend != nil && s.Suspend.Duration != "":
		return max(p.pause(s.Suspend.Duration, s.path+".suspend.duration"), time.Millisecond) // 0 means immediately
	case s.HTTP != nil && s.HTTP.TimeoutSeconds != nil:
		return seconds(s.HTTP.TimeoutSeconds)
	}
	limit := p.pause(s.Timeout, s.path+".timeout")
	if s.ActiveDeadline != nil && !p.hasTags(string(*s.ActiveDeadline)) {
		n, err := strconv.ParseInt(string(*s.ActiveDeadline), 10, 32)
		p.refuse(err != nil || n <= 0, s.path+".activeDeadlineSeconds", "This must be a number of seconds, not %q.", shorten(string(*s.ActiveDeadline)))
		if d := time.Duration(n) * time.Second; limit == 0 || d < limit {
			limit = d
		}
	}
	return limit
}

func seconds(n *int64) time.Duration {
	if n == nil || *n <= 0 {
		return 0
	}
	return time.Duration(min(*n, 10*365*24*3600)) * time.Second
}

// duration reads seconds, or a duration with units.
func duration(text string) (time.Duration, bool) {
	d, ok := units.Seconds(text)
	return d, ok && d >= 0
}
