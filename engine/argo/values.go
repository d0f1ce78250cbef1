package argo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// inputFields returns the inputs of a template.
func (vs *values) inputFields(s *source) typeregistry.Schema {
	var schema typeregistry.Schema
	for _, p := range s.Inputs.Parameters {
		schema.Fields = append(schema.Fields, typeregistry.Field{Name: p.Name, Type: vs.text, Description: string(p.Description)})
	}
	for _, a := range s.Inputs.Artifacts {
		schema.Fields = append(schema.Fields, typeregistry.Field{Name: artifactPort + a.Name, Hints: typeregistry.Hints{Label: a.Name}, Type: vs.file})
	}
	return schema
}

// graphOutputs returns the outputs of a template of steps or tasks.
func (vs *values) graphOutputs(s *source, in scope) []workflow.Output {
	var outputs []workflow.Output
	for i, p := range s.Outputs.Parameters {
		path := fmt.Sprintf("%s.outputs.parameters[%d]", s.path, i)
		tagged, ok := vs.outputValue(p, in, path)
		if !ok {
			continue
		}
		vs.refuse(p.ValueFrom != nil && p.ValueFrom.Path != "", path+".valueFrom.path", "Only a container or a script writes files; use parameter or expression.")
		outputs = append(outputs, workflow.Output{
			Name: p.Name, Type: vs.optional(vs.text), Description: string(p.Description), Source: workflow.Source{Kind: workflow.SourceTags, Tagged: tagged},
		})
	}
	for i, a := range s.Outputs.Artifacts {
		path := fmt.Sprintf("%s.outputs.artifacts[%d]", s.path, i)
		if a.From == "" && a.FromExpression == "" {
			vs.add(path+".from", "Set from or fromExpression.")
			continue
		}
		tagged := vs.sources.fileSource(a, in, path)
		tagged.Optional = true
		outputs = append(outputs, workflow.Output{
			Name: artifactPort + a.Name, Type: vs.optional(vs.file), Source: workflow.Source{Kind: workflow.SourceTags, Tagged: tagged},
		})
	}
	return outputs
}

// outputValue returns the source of an output parameter that is not read from a file.
func (vs *values) outputValue(p parameter, in scope, path string) (workflow.Tagged, bool) {
	v := workflow.Tagged{As: workflow.TaggedText, Optional: true}
	from := p.ValueFrom
	switch {
	case p.Value != nil:
		vs.checks.checkText(string(*p.Value), in, path+".value")
		v.Value = string(*p.Value)
	case from == nil:
		vs.add(path+".valueFrom", "Set the source of the value.")
		return v, false
	case from.Parameter != "":
		vs.checks.checkText(from.Parameter, in, path+".valueFrom.parameter")
		v.Value, v.Optional = from.Parameter, false
	case from.Expression != "":
		v.Value = "{{=" + from.Expression + "}}"
		vs.checks.checkText("{{="+from.Expression+"}}", in, path+".valueFrom.expression")
	default:
		vs.refuse(from.Path == "", path+".valueFrom", "Set the source of the value.")
		return v, false
	}
	if from != nil && from.Default != nil {
		text := string(*from.Default)
		v.Default = &text
	}
	return v, true
}

// outputs returns the outputs that other operators can read from a template.
func (vs *values) outputs(s *source) []workflow.OperatorOutput {
	var outputs []workflow.OperatorOutput
	for _, p := range s.Outputs.Parameters {
		o := workflow.OperatorOutput{Name: p.Name, Type: vs.optional(vs.text), Description: string(p.Description), Storage: workflow.StorageDisk, Default: p.whenSkipped()}
		if p.GlobalName != "" {
			vs.checks.checkText(p.GlobalName, scope{own: s}, s.path+".outputs")
			o.Global = "parameters." + p.GlobalName
		}
		outputs = append(outputs, o)
	}
	for _, a := range s.Outputs.Artifacts {
		o := workflow.OperatorOutput{Name: artifactPort + a.Name, Type: vs.optional(vs.file), Storage: workflow.StorageDisk}
		if a.GlobalName != "" {
			vs.checks.checkText(a.GlobalName, scope{own: s}, s.path+".outputs")
			o.Global = "artifacts." + a.GlobalName
		}
		outputs = append(outputs, o)
	}
	return outputs
}

// whenSkipped returns the value of an output parameter if its task does not run; nil for none.
func (p parameter) whenSkipped() *string {
	if p.ValueFrom == nil || p.ValueFrom.Default == nil || strings.Contains(string(*p.ValueFrom.Default), "{{") {
		return nil
	}
	text := string(*p.ValueFrom.Default)
	return &text
}

// taskInputs returns the inputs of the template of a task, with the arguments of the task.
func (vs *values) taskInputs(run *task, s *source, in scope, path string) []workflow.Input {
	var list []workflow.Input
	for i, p := range s.Inputs.Parameters {
		tagged, ok := vs.argument(run, s, p, in, path, fmt.Sprintf("%s.inputs.parameters[%d]", s.path, i))
		if !ok {
			if !in.unused {
				vs.add(path+".arguments.parameters", "The template %q needs the parameter %q (%s.inputs.parameters[%d]).", s.Name, p.Name, s.path, i)
			}
			continue
		}
		list = append(list, workflow.Input{
			Name: p.Name, Type: vs.text, Description: string(p.Description), Source: workflow.Source{Kind: workflow.SourceTags, Tagged: tagged},
		})
	}
	list = vs.orderOwn(list, s)
	for i, a := range run.Arguments.Parameters {
		known := slices.ContainsFunc(s.Inputs.Parameters, func(p parameter) bool { return p.Name == a.Name })
		if !known { // as in Argo, unknown arguments are ignored; their tags are checked
			at := fmt.Sprintf("%s.arguments.parameters[%d]", path, i)
			vs.argument(run, s, a, in, at, at)
		}
	}
	return append(list, vs.sources.fileInputs(run, s, in, path)...)
}

// argument returns the value of one parameter: that of the task, or the default of the template,
// whose path is own.
func (vs *values) argument(run *task, s *source, p parameter, in scope, path, own string) (workflow.Tagged, bool) {
	v := workflow.Tagged{As: workflow.TaggedText}
	for i, a := range run.Arguments.Parameters {
		if a.Name != p.Name {
			continue
		}
		at := fmt.Sprintf("%s.arguments.parameters[%d]", path, i)
		switch {
		case a.Value != nil:
			vs.checks.checkText(string(*a.Value), in, at+".value")
			v.Value = string(*a.Value)
		case a.ValueFrom != nil && a.ValueFrom.Expression != "":
			v.Value = "{{=" + a.ValueFrom.Expression + "}}"
			vs.checks.checkText("{{="+a.ValueFrom.Expression+"}}", in, at+".valueFrom.expression")
		case a.ValueFrom != nil && a.ValueFrom.Parameter != "":
			vs.checks.checkText(a.ValueFrom.Parameter, in, at+".valueFrom.parameter")
			v.Value = a.ValueFrom.Parameter
		case a.ValueFrom != nil && a.ValueFrom.ConfigMapKeyRef != nil:
			v = vs.configMapValue(a, in, at)
		case a.ValueFrom != nil:
			vs.add(at+".valueFrom", "An argument has a value, valueFrom.expression, valueFrom.parameter or valueFrom.configMapKeyRef.")
			return v, true
		default:
			continue
		}
		if p.Default != nil && v.Default == nil {
			text := string(*p.Default)
			v.Default = &text
		}
		return v, true
	}
	if p.ValueFrom != nil && p.ValueFrom.ConfigMapKeyRef != nil {
		v = vs.configMapValue(p, scope{own: s}, own)
		v.Own = true
		return v, true
	}
	value := cmp.Or(p.Value, p.Default)
	if value == nil && p.ValueFrom != nil {
		value = p.ValueFrom.Default
	}
	if value == nil {
		return v, false
	}
	v.Value = string(*value)
	if v.Own = strings.Contains(v.Value.(string), "{{"); v.Own { //nolint:forcetypeassert // set in the line above
		vs.checks.checkText(string(*value), scope{own: s, leaf: true}, own+".value")
	}
	return v, true
}
