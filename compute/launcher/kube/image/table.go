package image

import (
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	"sigs.k8s.io/yaml"
)

// ParseTable reads default commands of images as YAML:
//
//	busybox:1.37: {cmd: [sh]}
//	registry.example.com/tool: {entrypoint: [/tool, --quiet], cmd: [help]}
func ParseTable(data []byte) (map[string]Command, error) {
	table := map[string]Command{}
	if err := yaml.UnmarshalStrict(data, &table); err != nil {
		return nil, fmt.Errorf("commands of images: %w", err)
	}
	for image, command := range table {
		if _, err := name.ParseReference(image); err != nil {
			return nil, fmt.Errorf("commands of images: %q is not an image name", image)
		}
		if len(command.Entrypoint)+len(command.Cmd) == 0 {
			return nil, fmt.Errorf("commands of images: %s has neither entrypoint nor cmd", image)
		}
		if size := sizeOf(command); size > maxCommand {
			return nil, fmt.Errorf("commands of images: the command of %s has %d bytes, more than %d", image, size, maxCommand)
		}
	}
	return table, nil
}
