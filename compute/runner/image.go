package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// ImageVariable passes the default command of a container's image, an ImageCommand as
// JSON, when the container sets no command.
const ImageVariable = "FLOWFORGE_IMAGE_COMMAND"

// ImageCommand is the default command of an image.
type ImageCommand struct {
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
}

// ParseImageCommand reads the value of ImageVariable; nil when there is none.
func ParseImageCommand(text string) (*ImageCommand, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // most containers do not set it
	}
	var c ImageCommand
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return nil, fmt.Errorf("%s: %w", ImageVariable, err)
	}
	return &c, nil
}

var (
	errNoImage    = errors.New("the container has no command, and the default command of its image is known only in a cluster; set command")
	errEmptyImage = errors.New("the container has no command, and its image has no default command; set command")
)

// with returns the command for args: as in Kubernetes, args follow ENTRYPOINT and replace
// CMD.
func (c *ImageCommand) with(args []string) ([]string, error) {
	if c == nil {
		return nil, errNoImage
	}
	if len(args) == 0 {
		args = c.Cmd
	}
	argv := slices.Concat(c.Entrypoint, args)
	if len(argv) == 0 {
		return nil, errEmptyImage
	}
	return argv, nil
}

// imageCommand fills in the command of the image when work has none.
func (a *attempt) imageCommand(work *flowforgev1.Process) (*flowforgev1.Process, error) {
	if !work.ImageCommand {
		return work, nil
	}
	var image *ImageCommand
	if pod := a.s.config.Pod; pod != nil {
		image = pod.Image
	}
	argv, err := image.with(work.Command)
	return &flowforgev1.Process{Command: argv, Folder: work.Folder}, err
}

// passImageCommand adds the image's default command to the environment of an attempt with
// several members: members may set no command.
func (a *attempt) passImageCommand(work *flowforgev1.Process, env environ) error {
	pod := a.s.config.Pod
	if pod == nil || pod.Image == nil || work.ImageCommand {
		return nil
	}
	text, err := json.Marshal(pod.Image)
	if err != nil {
		return fmt.Errorf("%s: %w", ImageVariable, err)
	}
	env[ImageVariable] = string(text)
	return nil
}

// extractImageCommand removes the image's command from a process environment and returns
// it.
func extractImageCommand(environ []string) (rest []string, image *ImageCommand, err error) {
	for _, entry := range environ {
		value, ours := strings.CutPrefix(entry, ImageVariable+"=")
		if !ours {
			rest = append(rest, entry)
			continue
		}
		if image, err = ParseImageCommand(value); err != nil {
			return nil, nil, err
		}
	}
	return rest, image, nil
}
