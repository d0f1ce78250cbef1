package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

// sweepOf reads a sweep from a file, or from flags for a workflow. Flags replace what a file has.
func (c *client) sweepOf(cmd *cobra.Command, ref string) (contract.SweepInput, error) {
	in, err := readSweep(ref)
	if err != nil {
		return in, err
	}
	given, err := c.inputs(cmd)
	if err != nil {
		return in, err
	}
	if len(given) > 0 {
		inputs := map[string]any{}
		if len(in.Inputs) > 0 {
			if err := decodeJSON(string(in.Inputs), &inputs); err != nil {
				return in, fmt.Errorf("%s: inputs is not an object: %w", ref, err)
			}
		}
		maps.Copy(inputs, given)
		if in.Inputs, err = json.Marshal(inputs); err != nil {
			return in, fmt.Errorf("encode inputs: %w", err)
		}
	}
	parameters, err := spaceOf(cmd)
	if err != nil {
		return in, err
	}
	in.Space = slices.DeleteFunc(in.Space, func(p contract.SweepParameter) bool {
		return slices.ContainsFunc(parameters, func(flag contract.SweepParameter) bool { return flag.Path == p.Path })
	})
	in.Space = append(in.Space, parameters...)
	f := cmd.Flags()
	for name, into := range map[string]*string{"name": &in.Name, "method": &in.Method, "note": &in.Note} {
		if f.Changed(name) {
			*into, _ = f.GetString(name)
		}
	}
	for name, into := range map[string]*int{"runs": &in.Runs, "parallelism": &in.Parallelism} {
		if f.Changed(name) {
			*into, _ = f.GetInt(name)
		}
	}
	if f.Changed("tag") {
		in.Tags, _ = f.GetStringArray("tag")
	}
	if f.Changed("seed") {
		in.Seed, _ = f.GetInt64("seed")
	}
	if f.Changed("gpu-hours") {
		in.GPUHours, _ = f.GetFloat64("gpu-hours")
	}
	if in.EarlyStopping, err = stoppingOf(cmd, in.EarlyStopping); err != nil {
		return in, err
	}
	if f.Changed("metric") || f.Changed("output") {
		o := &contract.SweepObjective{}
		o.Metric, _ = f.GetString("metric")
		o.Output, _ = f.GetString("output")
		in.Objective = o
	}
	if in.Objective == nil && (f.Changed("goal") || f.Changed("value")) {
		return in, errors.New("--goal and --value need --metric or --output")
	}
	if f.Changed("goal") {
		in.Objective.Goal, _ = f.GetString("goal")
	}
	if f.Changed("value") {
		in.Objective.Value, _ = f.GetString("value")
	}
	return in, nil
}

// readSweep reads the sweep of a file; other references name a workflow.
func readSweep(ref string) (in contract.SweepInput, err error) {
	text, err := os.ReadFile(ref)
	if err != nil { // a workflow cannot be a file
		if strings.HasSuffix(ref, ".yaml") || strings.HasSuffix(ref, ".yml") || strings.HasSuffix(ref, ".json") {
			return in, err //nolint:wrapcheck // it names the file
		}
		in.Workflow, in.Version, _ = strings.Cut(ref, "@")
		return in, nil
	}
	converted, err := yaml.YAMLToJSON(text)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(converted))
		d.DisallowUnknownFields()
		err = d.Decode(&in)
	}
	if err != nil {
		return in, fmt.Errorf("%s: %w", ref, err)
	}
	return in, nil
}

// stoppingOf is the rule of the flags, or else current.
func stoppingOf(cmd *cobra.Command, current *contract.SweepStopping) (*contract.SweepStopping, error) {
	f := cmd.Flags()
	switch {
	case f.Changed("early-stopping"):
		current = &contract.SweepStopping{}
		current.Rule, _ = f.GetString("early-stopping")
	case !f.Changed("min-step"):
		return current, nil
	case current == nil:
		return nil, errors.New("--min-step needs --early-stopping")
	}
	if f.Changed("min-step") {
		current.MinStep, _ = f.GetInt64("min-step")
	}
	return current, nil
}
