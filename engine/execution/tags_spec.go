package execution

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/bucket"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/workflow"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/typeregistry"
)

// attemptName identifies an attempt on its machine, and names its pod.
func attemptName(execution uuid.UUID, node, attempt int) string {
	return fmt.Sprintf("ff-%s-%d-%d", execution, node, attempt)
}

// written returns the operator of node i with all tags replaced, for the current attempt,
// whose inputs are values.
func (as *attemptSpecs) written(ctx context.Context, i int, values map[string]any) (*workflow.Operator, error) {
	op := as.loop.operator(i)
	if op.Tags == nil {
		return op, nil
	}
	p := as.loop.values.within(ctx, i, values)
	out := *op
	w := writer{place: p}
	out.Code.Command, out.Code.Args = w.texts(op.Code.Command), w.texts(op.Code.Args)
	out.Code.Script, out.Code.Image, out.Code.Folder = w.text(op.Code.Script), w.text(op.Code.Image), w.text(op.Code.Folder)
	if op.HTTP != nil {
		request := *op.HTTP
		request.URL, request.Body, request.Method = w.text(request.URL), w.text(request.Body), w.text(request.Method)
		request.Headers = w.mapping(request.Headers)
		out.HTTP = &request
	}
	out.Environment = w.mapping(op.Environment)
	out.Pod = w.json(op.Pod)
	out.Host = w.host(op.Host)
	out.Members = w.members(op.Members)
	out.Outputs = make([]workflow.OperatorOutput, len(op.Outputs))
	for k, o := range op.Outputs {
		o.Path, o.Key, o.Global = w.text(o.Path), w.text(o.Key), w.text(o.Global)
		o.Bucket = w.object(o.Bucket)
		out.Outputs[k] = o
	}
	return &out, w.err
}

// writer replaces tags until an error occurs.
type writer struct {
	place *tagScope
	err   error
}

func (w *writer) text(text string) string {
	if w.err != nil || text == "" {
		return text
	}
	var out string
	out, w.err = w.place.text(text, true)
	return out
}

func (w *writer) host(h workflow.Host) workflow.Host {
	out := workflow.Host{Refused: h.Refused}
	for _, s := range h.Secrets {
		s.Secret = w.text(s.Secret)
		out.Secrets = append(out.Secrets, s)
	}
	for _, s := range h.Scratch {
		out.Scratch = append(out.Scratch, workflow.Scratch{Name: s.Name, Path: w.text(s.Path)})
	}
	return out
}

func (w *writer) texts(list []string) []string {
	out := make([]string, len(list))
	for i, text := range list {
		out[i] = w.text(text)
	}
	return out
}

func (w *writer) mapping(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = w.text(v)
	}
	return out
}

func (w *writer) object(m map[string]any) map[string]any {
	if m == nil || w.err != nil {
		return m
	}
	v, err := w.place.render(m, true)
	w.err = err
	fields, _ := v.(map[string]any)
	return fields
}

func (w *writer) json(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || w.err != nil {
		return raw
	}
	v, err := w.place.render(stored.Object(raw), true)
	if w.err = err; err != nil {
		return nil
	}
	return mustJSON(v)
}

// blobType reports whether values of t are files.
func blobType(t *typeregistry.Type) bool {
	if t != nil && t.Kind == typeregistry.KindOptional {
		t = t.Elem
	}
	return t != nil && t.IsBlob()
}

// madeFile returns the file of a value that is not in the store; false for any other value.
// place is where it is in a bucket, or nil.
func madeFile(value any, in workflow.Input, place map[string]any) (*flowforgev1.InputFile, bool) {
	v, ok := value.(map[string]any)
	if !ok || !blobType(in.Type) {
		return nil, false
	}
	file := &flowforgev1.InputFile{Input: in.Name, Pointer: "/" + escapePointer(in.Name), Optional: in.Type.Kind == typeregistry.KindOptional}
	if text, ok := v[workflow.RawText].(string); ok {
		file.Text = text
		return file, true
	}
	file.Archive = archiveOf(textOf(v[workflow.RawArchive]))
	if address, ok := v[workflow.RawURL].(string); ok {
		file.Url, file.Headers = address, textsOf(v["headers"])
		return file, true
	}
	if place != nil {
		at := bucket.Location{Store: bucket.Store(textOf(place["store"])), Key: textOf(place["key"])}
		file.Bucket = &flowforgev1.BucketSource{Marker: at.Marker()}
		return file, true
	}
	git, ok := v[workflow.RawGit].(map[string]any)
	if !ok {
		return nil, false
	}
	depth, _ := strconv.Atoi(textOf(git["depth"]))
	file.Git = &flowforgev1.GitSource{Depth: int32(max(0, min(depth, 1_000_000)))}
	file.Git.Repository, _ = git["repo"].(string)
	file.Git.Revision, _ = git["revision"].(string)
	file.Git.Branch, _ = git["branch"].(string)
	file.Git.SingleBranch, file.Git.NoSubmodules, file.Git.Insecure = git["single"] != nil, git["plain"] != nil, git["insecure"] != nil
	fetch, _ := git["fetch"].([]any)
	for _, spec := range fetch {
		file.Git.Fetch = append(file.Git.Fetch, textOf(spec))
	}
	return file, true
}

func archiveOf(format string) flowforgev1.Archive {
	switch workflow.ArchiveFormat(format) {
	case workflow.ArchiveTar:
		return flowforgev1.Archive_ARCHIVE_TAR
	case workflow.ArchiveZip:
		return flowforgev1.Archive_ARCHIVE_ZIP
	case workflow.ArchiveNone:
	}
	return flowforgev1.Archive_ARCHIVE_UNSPECIFIED
}

func textsOf(value any) map[string]string {
	fields, _ := value.(map[string]any)
	if len(fields) == 0 {
		return nil
	}
	out := make(map[string]string, len(fields))
	for name, v := range fields {
		out[name] = textOf(v)
	}
	return out
}

// placeFiles moves the files of inputs to the paths of the operator, and adds files that are
// not in the store.
func (in *attemptInputs) placeFiles(op *workflow.Operator, made []*flowforgev1.InputFile, spots map[string]filePlacement) {
	in.files = append(in.files, made...)
	for _, input := range op.Inputs {
		for _, f := range in.files {
			if f.Input == input.Name && f.Pointer == "/"+escapePointer(input.Name) {
				f.Path, f.SubPath, f.Mode, f.Recurse = spots[input.Name].path, spots[input.Name].part, input.Mode, input.Recurse
			}
		}
	}
}

// ownValues adds the outputs of an ended task that it does not write itself: expressions,
// and the values of missing files.
func (ao *artifactOutputs) ownValues(ctx context.Context, i int, values map[string]any) []string {
	var problems []string
	op := ao.loop.operator(i)
	var p *tagScope
	for _, o := range op.Outputs {
		_, known := values[o.Name]
		if known || o.Source.Kind != workflow.SourceTags && o.Else == nil {
			continue
		}
		if p == nil {
			inputs, err := ao.loop.values.inputValues(ctx, i)
			if ao.loop.cannotRead(err) {
				return nil
			}
			p = ao.loop.values.within(ctx, i, inputs)
		}
		v, ok, err := p.unwritten(o)
		if ao.loop.cannotRead(err) {
			return nil
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("Output %s: %s", o.Name, sentence(err)))
		} else if ok {
			values[o.Name] = v
		}
	}
	return problems
}

// unwritten returns the value of an output that its node does not write: the value of its
// tags, or its default.
func (p *tagScope) unwritten(o workflow.OperatorOutput) (any, bool, error) {
	if o.Source.Kind == workflow.SourceTags {
		return p.tagged(o.Source.Tagged)
	}
	text, err := p.text(*o.Else, true)
	return text, err == nil, err
}

// inputValues returns the inputs of node i, as far as they can be computed. It fails only with a
// readError.
func (vs *nodeValues) inputValues(ctx context.Context, i int) (map[string]any, error) {
	values := map[string]any{}
	for _, in := range vs.loop.operator(i).Inputs {
		v, err := vs.typedWith(ctx, i, in, values)
		if isUnreadable(err) {
			return nil, err
		}
		if err == nil && v != nil {
			values[in.Name] = v
		}
	}
	return values, nil
}

// attemptEnvironment is environment for an operator whose tags are replaced.
func (as *attemptSpecs) attemptEnvironment(i int, op *workflow.Operator) map[string]string {
	env := as.environment(i)
	if op.Tags == nil {
		return env
	}
	out := maps.Clone(env)
	maps.Copy(out, op.Environment)
	return out
}
