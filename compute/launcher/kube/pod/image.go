package pod

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// ImageVariable tells the runner in a container what the image runs by itself, as an
// ImageCommand in JSON.
const ImageVariable = "FLOWFORGE_IMAGE_COMMAND"

// ImageCommand is what an image runs by itself.
type ImageCommand struct {
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
}

// Silent is a container that leaves it to its image which program runs.
type Silent struct {
	Container string
	Image     string
	Args      bool // it gives the program arguments
}

// SilentContainers are the containers of an attempt that name no command, by their names,
// and the architecture of the machines that its pods ask for, "" for any. What their images
// run has to be among the options that Build is given.
func SilentContainers(spec *flowforgev1.AttemptSpec, o Options) ([]Silent, string, error) {
	if !strings.Contains(spec.GetPodJson(), `"imageCommands"`) { // most name theirs, and are not read twice
		return nil, "", nil
	}
	fields, err := ParseFields([]byte(spec.GetPodJson()))
	if err != nil {
		return nil, "", err
	}
	b := &builder{spec: spec, o: o.withDefaults(), fields: merge(o.Defaults, fields)}
	images := map[string]string{Container: b.image()}
	for _, c := range b.fields.Members {
		images[c.Name] = c.Image
	}
	var all []Silent
	for _, name := range slices.Sorted(maps.Keys(fields.ImageCommands)) {
		all = append(all, Silent{Container: name, Image: images[name], Args: fields.ImageCommands[name]})
	}
	return all, b.fields.NodeSelector[corev1.LabelArchStable], nil
}

// imageEnv tells a container that names no command what its image runs. Kubernetes reads
// $(NAME) in values, and $$ as one $.
func (b *builder) imageEnv(container, image string) []corev1.EnvVar {
	_, silent := b.fields.ImageCommands[container]
	command, known := b.o.ImageCommands[image]
	if !silent || !known {
		return nil
	}
	text, err := json.Marshal(command)
	if err != nil {
		return nil // lists of texts
	}
	return []corev1.EnvVar{{Name: ImageVariable, Value: strings.ReplaceAll(string(text), "$", "$$")}}
}

// imageCommands are of containers that there are.
func (c *checker) imageCommands() {
	for _, name := range slices.Sorted(maps.Keys(c.fields.ImageCommands)) {
		member := slices.ContainsFunc(c.fields.Members, func(m corev1.Container) bool { return m.Name == name })
		if name != Container && !member {
			c.add(fmt.Sprintf("imageCommands[%s]", name), "There is no container of this name.")
		}
	}
}
