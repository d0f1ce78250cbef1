package workflow

import (
	"bytes"
	"encoding/json"
	"strings"
)

// maxPodBytes bounds the pod fields of one operator.
const maxPodBytes = 64 << 10

// pod reads the fields of the operator's pods as canonical JSON: names are sorted, and
// empty fields are dropped. The launcher interprets them (see Service.CheckPodsWith).
func (o *object) pod() json.RawMessage {
	fields := o.mapping("pod")
	if len(fields) == 0 {
		return nil
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		o.add(o.at("pod"), "This cannot be written as JSON.")
		return nil
	}
	if len(raw) > maxPodBytes {
		o.add(o.at("pod"), "The fields of the pod have %d KiB; at most %d are allowed.", len(raw)>>10, maxPodBytes>>10)
		return nil
	}
	return raw
}

// podWithoutTags returns the fields of the pod with placeholders for texts with tags,
// so that the rest can be checked. A patch is checked when its tags are replaced.
func (o *Operator) podWithoutTags() json.RawMessage {
	if o.Tags == nil || !bytes.Contains(o.Pod, []byte("{{")) {
		return o.Pod
	}
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(o.Pod))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		return o.Pod
	}
	if patch, _ := fields["podSpecPatch"].(string); strings.Contains(patch, "{{") {
		delete(fields, "podSpecPatch")
	}
	plain, err := json.Marshal(withoutTags(fields))
	if err != nil {
		return o.Pod
	}
	return plain
}

func withoutTags(v any) any {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, "{{") {
			return "1"
		}
	case []any:
		for i, e := range v {
			v[i] = withoutTags(e)
		}
	case map[string]any:
		for k, e := range v {
			v[k] = withoutTags(e)
		}
	}
	return v
}

// fresh reads whether attempts start their own interpreter.
func (o *object) fresh(op *Operator) {
	v, path, _ := o.get("fresh")
	if v == nil {
		return
	}
	op.Fresh = new(o.boolean(false, "fresh"))
	if op.Type != "" && op.Type != TypePython {
		o.add(path, "fresh applies only to Python operators; remove it from this operator of type %s.", op.Type)
	}
}

// StartsFresh reports whether attempts must start their own interpreter: CUDA does not work
// in a fork of a process that has used it.
func (o *Operator) StartsFresh() bool {
	if o.Fresh != nil {
		return *o.Fresh
	}
	return o.Resources.GPUs > 0
}

// checkPods checks the pod settings of an operator for conflicts.
func (o *object) checkPods(op *Operator) {
	growth, memory := op.Retry.Memory, op.Resources.MemoryMiB
	switch {
	case growth.Factor == 0:
	case memory == 0:
		o.add(o.at("retry.memory"), "Only requested memory can grow; add resources: {memory: 4Gi}.")
	case growth.LimitMiB > 0 && growth.LimitMiB < memory:
		o.add(o.at("retry.memory.limit"), "This is less than the %dMi that the first attempt requests.", memory)
	}
	if op.Resident && op.Resources.Pods > 1 {
		o.add(o.at("resident"), "A gang of several pods cannot run in a warm pod.")
	}
	if op.Resident && op.Type != "" && !op.Runs() {
		o.add(o.at("resident"), "An operator of type %s does not run attempts.", op.Type)
	}
}
