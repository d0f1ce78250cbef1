package runner

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// Kubernetes replaces $(NAME) in the command, the arguments and the variables of a
// container. The command of a pod's container is the runner, so the runner does this for
// the commands that it starts. In addition to the container's own variables, it knows
// those of the image and of the task contract.

// expanded returns work with its command expanded if it is that of a container, and
// expands the variables of env that have one of values.
func expanded(work *flowforgev1.Process, env environ, values map[string]string) *flowforgev1.Process {
	if !work.GetExpand() {
		return work
	}
	env.expandVariables(work.Variables, values)
	work = proto.CloneOf(work)
	work.Command = env.expandAll(work.Command)
	return work
}

// environOf reads the environment of a process.
func environOf(process []string) environ {
	env := make(environ, len(process))
	for _, entry := range process {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}

// expand replaces each $(NAME) of a known variable, and $$ by $. Other text stays.
func (e environ) expand(text string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(text, '$')
		if at < 0 || at+1 == len(text) {
			return b.String() + text
		}
		b.WriteString(text[:at])
		text = text[at:]
		length, value := 2, text[:2] // "$" and a character that begins no reference
		switch text[1] {
		case '$':
			value = "$"
		case '(':
			end := strings.IndexByte(text, ')')
			if end < 0 {
				break
			}
			length, value = end+1, text[:end+1]
			if known, ok := e[text[2:end]]; ok {
				value = known
			}
		}
		b.WriteString(value)
		text = text[length:]
	}
}

// expandAll expands each text of a command.
func (e environ) expandAll(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = e.expand(text)
	}
	return out
}

// expandVariables expands the variables that have one of values. names are all variables
// of a container in their order: each can name those before it.
func (e environ) expandVariables(names []string, values map[string]string) {
	known := maps.Clone(e)
	for _, name := range names {
		delete(known, name)
	}
	for i, name := range names {
		if slices.Contains(names[i+1:], name) {
			continue // the last one counts
		}
		// The task contract sets some variables itself, and PYTHONPATH begins with the SDK.
		if before, own := strings.CutSuffix(e[name], values[name]); own && values[name] != "" {
			e[name] = before + known.expand(values[name])
		}
		if value, ok := e[name]; ok {
			known[name] = value
		}
	}
}
