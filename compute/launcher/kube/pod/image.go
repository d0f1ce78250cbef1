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

// ImageVariable passes the default command of the image to the runner in a container, as
// an ImageCommand in JSON.
const ImageVariable = "FLOWFORGE_IMAGE_COMMAND"

// ImageCommand is the default command of an image.
type ImageCommand struct {
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
}

// Silent is a container without a command, which runs its image's default command.
type Silent struct {
	Container string
	Image     string
	Args      bool // it has arguments
}

// SilentContainers returns the containers of an attempt without a command, by name, and
// the architecture that its pods request, "" for any. The default commands of their
// images must be among the options of Build.
func SilentContainers(spec *flowforgev1.AttemptSpec, o Options) ([]Silent, string, error) {
	if !strings.Contains(spec.GetPodJson(), `"imageCommands"`) { // most containers have a command: avoid parsing twice
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

// imageEnv passes the image's default command to a container without a command.
// Kubernetes expands $(NAME) in values, and $$ to one $.
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

// imageCommands checks that the containers exist.
func (c *checker) imageCommands() {
	for _, name := range slices.Sorted(maps.Keys(c.fields.ImageCommands)) {
		member := slices.ContainsFunc(c.fields.Members, func(m corev1.Container) bool { return m.Name == name })
		if name != Container && !member {
			c.add(fmt.Sprintf("imageCommands[%s]", name), "There is no container with this name.")
		}
	}
}
