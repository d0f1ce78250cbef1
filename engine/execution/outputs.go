package execution

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// take checks the outputs of a successful attempt and returns them as the node's.
// Uploaded blobs become artifacts of the batch, with the value {"$artifact": id}. A missing
// output, or one of the wrong type, turns e into a failure.
func (ao *artifactOutputs) take(ctx context.Context, i int, e *ending) map[string]any {
	op := ao.loop.operator(i)
	if len(op.Outputs) == 0 && len(e.Outputs) == 0 && !op.KeepsAll() {
		return nil
	}
	values, artifacts, problems := ao.read(ctx, i, e)
	if len(problems) > 0 {
		ao.refuse(e, strings.Join(problems, " "))
		return nil
	}
	if problem := conditionProblem(op.HTTP, values, e.Outputs); problem != "" {
		e.Outcome, e.Message = failed, clean(problem, maxMessage)
		return nil
	}
	ao.add(artifacts)
	return values
}

// maxBody is the size in bytes at which runners cut the body of a response.
const maxBody = 256 << 10

// conditionProblem explains why a response does not meet the condition of its request; "" when it does.
func conditionProblem(h *workflow.HTTP, values map[string]any, reported []output) string {
	if h == nil || h.Condition == nil {
		return ""
	}
	body, _ := values[ResultPort].(string)
	truncated := slices.ContainsFunc(reported, func(o output) bool { return o.Name == ResultPort && o.Truncated })
	if truncated || len(body) >= maxBody { // runners before protocol 3 do not say it
		return "The response is longer than 256 KiB, so successCondition cannot read it. Read it in a task instead."
	}
	status, headers := workflow.HTTPOutputs()
	response := map[string]any{"statusCode": values[status], "body": body, "headers": values[headers]}
	ok, err := h.Condition.Bool(map[string]any{"response": response})
	switch {
	case err != nil:
		return fmt.Sprintf("The response has status %v, but successCondition could not be evaluated: %s", values[status], sentence(err))
	case !ok:
		return fmt.Sprintf("The response with status %v does not meet successCondition: %s", values[status], h.Condition)
	}
	return ""
}

// served returns the outputs of an attempt that served others until it was stopped: its address,
// and the outputs that exist.
func (ao *artifactOutputs) served(ctx context.Context, i int, e *ending) map[string]any {
	values := map[string]any{}
	if len(ao.loop.operator(i).Outputs) > 0 {
		var artifacts []artifact.New
		var problems []string
		values, artifacts, problems = ao.read(ctx, i, e)
		if len(problems) > 0 {
			ao.loop.driver.config.Logger.Warn("The outputs of a daemon could not be read.", "execution", ao.loop.id, "node", i, "problems", problems)
		}
		ao.add(artifacts)
	}
	values[AddressPort] = ao.loop.nodes[i].address
	return values
}

// storeFailedOutputs stores the existing outputs of a failed attempt for nodes that run after it
// anyway: Argo's files, whose operators have tags, expect this.
func (ao *artifactOutputs) storeFailedOutputs(ctx context.Context, i int, e *ending) {
	op := ao.loop.operator(i)
	if e.Outcome != failed || op.Tags == nil || len(op.Outputs) == 0 && !op.KeepsAll() {
		return
	}
	values, artifacts, _ := ao.read(ctx, i, e)
	ao.add(artifacts)
	ao.loop.values.outputs[i] = values
	ao.loop.batch.touch(i).Outputs = values
}

// read turns the outputs that an attempt reported into values and artifacts; problems
// lists missing and invalid outputs. While the database or the store does not respond, the loop ends
// without a decision about the attempt, and the next one reads its outputs again.
func (ao *artifactOutputs) read(ctx context.Context, i int, e *ending) (values map[string]any, artifacts []artifact.New, problems []string) {
	op := ao.loop.operator(i)
	values = map[string]any{}
	reported, err := ao.reported(ctx, i, e.Outputs)
	if ao.loop.cannotRead(err) {
		return values, nil, nil
	}
	for _, declared := range op.Outputs {
		out, ok := reported[declared.Name]
		if !ok {
			if declared.Required() && declared.Source.Kind == "" && declared.Else == nil {
				problems = append(problems, fmt.Sprintf("Output %s is missing.", declared.Name))
			}
			continue
		}
		value, published, err := ao.takeOne(ctx, i, declared, out, reported)
		if ao.loop.cannotRead(err) {
			return values, nil, nil
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("Output %s: %s", declared.Name, err))
			continue
		}
		values[declared.Name] = value
		artifacts = append(artifacts, published...)
	}
	if op.KeepsAll() {
		more, faults := ao.undeclared(ctx, i, reported, values)
		artifacts, problems = append(artifacts, more...), append(problems, faults...)
	}
	return values, artifacts, append(problems, ao.ownValues(ctx, i, values)...)
}

func (ao *artifactOutputs) refuse(e *ending, message string) {
	e.Outcome, e.Message = outputFailed, clean(message, maxMessage)
}

// reported merges the outputs that the task set through the SDK with the files that
// its runner found; a file takes precedence over a value of the same name.
func (ao *artifactOutputs) reported(ctx context.Context, i int, found []output) (map[string]output, error) {
	outputs := map[string]output{}
	if op := ao.loop.operator(i); len(op.Outputs) > 0 || op.KeepsAll() {
		rows, err := ao.loop.driver.queries.AttemptOutputs(ctx, ao.loop.id, int32(i), int32(ao.loop.nodes[i].attempt)) //nolint:gosec // an index and a count
		if err != nil {
			return nil, &readError{err}
		}
		for _, r := range rows {
			for name, value := range stored.Object(r.Outputs) {
				outputs[name] = output{Name: name, Value: string(mustJSON(value))}
			}
		}
	}
	for _, o := range found {
		outputs[o.Name] = o
	}
	return outputs, nil
}

// takeOne checks one output against its type. Files in its value are among the reported outputs.
func (ao *artifactOutputs) takeOne(ctx context.Context, i int, declared workflow.OperatorOutput, out output, reported map[string]output) (any, []artifact.New, error) {
	t := declared.Type
	if t.Kind == typeregistry.KindOptional {
		t = t.Elem
	}
	if out.SHA256 != "" {
		if !t.IsBlob() {
			return nil, nil, fmt.Errorf("it is a file, but %s is a value.", t)
		}
		published, err := ao.publish(ctx, i, declared, t, out)
		if err != nil {
			return nil, nil, err
		}
		return map[string]any{"$artifact": published.ID.String()}, []artifact.New{*published}, nil
	}
	if len(out.Value) > maxOutputBytes {
		return nil, nil, fmt.Errorf("it is larger than %d MiB; write it to a file.", maxOutputBytes>>20)
	}
	value, err := stored.Value(out.Value)
	if err != nil {
		return nil, nil, err
	}
	if op := ao.loop.operator(i); op.KeepsAll() && t.Kind == typeregistry.KindText { // the SDK accepts any value
		value = textOf(value)
	}
	contained := containedFiles{outputs: ao, node: i, declared: declared, reported: reported}
	if value, err = contained.take(ctx, t, declared.Name, value); err != nil {
		return nil, nil, err
	}
	value, problems := declared.Type.CheckValue(value, typeregistry.Env{Produced: true})
	if len(problems) > 0 {
		return nil, nil, problemError(problems)
	}
	return value, contained.artifacts, nil
}

func problemError(problems []typeregistry.Problem) error {
	var parts []string
	for _, p := range problems {
		text := p.Message
		if p.Path != "" {
			text = p.Path + ": " + text
		}
		parts = append(parts, text)
	}
	return fmt.Errorf("%s", strings.Join(parts, " "))
}

// metadataOf returns the metadata that a task set for an output, nil for none.
func metadataOf(out output) (map[string]any, error) {
	if out.Metadata == "" {
		return nil, nil //nolint:nilnil // no metadata
	}
	value, err := stored.Value(out.Metadata)
	if err != nil {
		return nil, err
	}
	metadata, _ := value.(map[string]any) // the runner has checked it
	return metadata, nil
}

// publish describes the artifact of one output; the batch writes it. Its bytes, and for a
// folder the bytes of every file, must have arrived in the project.
func (ao *artifactOutputs) publish(ctx context.Context, i int, declared workflow.OperatorOutput, t *typeregistry.Type, out output) (*artifact.New, error) {
	blob, err := ao.loop.driver.artifacts.Blob(ctx, ao.loop.row.ProjectID, out.SHA256, out.MediaType)
	if err != nil {
		return nil, unlessRefused(fmt.Errorf("its bytes have not arrived: %w", err))
	}
	id, err := artifact.NewID()
	if err != nil {
		return nil, err
	}
	metadata, err := metadataOf(out)
	if err != nil {
		return nil, fmt.Errorf("its metadata cannot be stored: %w", err)
	}
	return &artifact.New{
		ID: id, ExecutionID: ao.loop.id, NodeIndex: i, Node: ao.loop.nodes[i].name, Attempt: ao.loop.nodes[i].attempt,
		WorkflowName: ao.loop.row.WorkflowName, Name: declared.Name, Type: t.String(), Kind: string(t.Kind),
		SHA256: out.SHA256, Size: blob.Size, MediaType: out.MediaType, Filename: out.Filename,
		GC: artifact.GC(declared.GC), Metadata: metadata,
	}, nil
}
