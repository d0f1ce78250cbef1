package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// ImageVariable tells a container what its image runs by itself, as an ImageCommand in
// JSON, when nothing else says which program runs.
const ImageVariable = "FLOWFORGE_IMAGE_COMMAND"

// ImageCommand is what an image runs by itself.
type ImageCommand struct {
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
}

// ParseImageCommand reads the value of ImageVariable; nil when there is none.
func ParseImageCommand(text string) (*ImageCommand, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // most containers have none
	}
	var c ImageCommand
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return nil, fmt.Errorf("%s: %w", ImageVariable, err)
	}
	return &c, nil
}

var (
	errNoImage    = errors.New("the container names no command, and what its image runs by itself is known in a cluster alone; write command")
	errEmptyImage = errors.New("the container names no command, and its image runs nothing by itself; write command")
)

// with is what runs with args: as in Kubernetes they follow ENTRYPOINT, in the place of CMD.
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

// imageCommand is work with the command of the image in it, when work names none.
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

// tellImage tells the command of an attempt that has several members what the image runs
// by itself: one of them may name no command.
func (a *attempt) tellImage(work *flowforgev1.Process, env environ) error {
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

// takeImage takes the command of the image out of a process environment.
func takeImage(environ []string) (rest []string, image *ImageCommand, err error) {
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
