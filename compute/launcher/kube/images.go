package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/image"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// lookupWait is how long, from the start of the lookup, a call of Start waits for a
// registry before it leaves the attempt for the next call.
const lookupWait = time.Second

// imageLookup returns the lookup of default commands of images.
func (c Config) imageLookup() *image.Lookup {
	return image.New(image.Config{
		Known: c.ImageCommands, Credentials: c.RegistryConfig, Insecure: c.InsecureRegistries, Logger: c.Logger, Now: c.Now,
	})
}

// unnamed returns the containers of an attempt without a command. Build reports invalid
// fields.
func (c *Client) unnamed(attempt launcher.Attempt) ([]pod.Silent, string) {
	containers, architecture, err := pod.SilentContainers(attempt, pod.Options{Image: c.config.Image, TaskImage: c.config.TaskImage, Defaults: c.config.Defaults})
	if err != nil {
		return nil, ""
	}
	return containers, architecture
}

// imageCommands returns the default commands of the containers' images, or the verdict on
// an attempt for which one is unknown.
func (c *Client) imageCommands(ctx context.Context, containers []pod.Silent, architecture string) (map[string]pod.ImageCommand, *verdict) {
	for _, one := range containers { // all lookups run concurrently
		_, _ = c.images.Find(ctx, one.Image, architecture, 0)
	}
	commands := map[string]pod.ImageCommand{}
	for _, one := range containers {
		command, err := c.images.Find(ctx, one.Image, architecture, lookupWait)
		if err != nil {
			v := c.unknownImage(one, err)
			return nil, &v
		}
		if len(command.Entrypoint)+len(command.Cmd) == 0 && !one.Args {
			v := refused(launcher.ClassImage, fmt.Sprintf("%s, and its image %s has no default command: it has neither ENTRYPOINT nor CMD. Set command in the container.", missingCommand(one), one.Image))
			return nil, &v
		}
		commands[one.Image] = pod.ImageCommand(command)
	}
	return commands, nil
}

// unknownImage returns the verdict on an attempt when the default command of its image is
// unknown.
func (c *Client) unknownImage(one pod.Silent, err error) verdict {
	if errors.Is(err, image.ErrPending) {
		return c.verdictOn(&verdictError{waiting: &launcher.Waiting{
			Code: launcher.WaitImage, Message: fmt.Sprintf("%s; the default command of its image %s is being looked up in its registry.", missingCommand(one), one.Image),
		}})
	}
	failed, ok := errors.AsType[*image.Error](err)
	if !ok {
		return verdict{err: err}
	}
	message := fmt.Sprintf("%s, and the default command of its image %s cannot be looked up: %s.", missingCommand(one), one.Image, failed.Reason)
	switch failing := c.config.Now().Sub(failed.Since); {
	case failed.Passing && failing < c.config.ImageTimeout:
		return c.verdictOn(&verdictError{waiting: &launcher.Waiting{Code: launcher.WaitImage, Message: message}})
	case failed.Passing:
		message += fmt.Sprintf(" The lookup has been failing for %s.", failing.Round(time.Second))
	}
	return refused(launcher.ClassImage, message+" Set command in the container.")
}

func missingCommand(one pod.Silent) string {
	if one.Container == pod.Container {
		return "The container has no command"
	}
	return fmt.Sprintf("The container %s has no command", one.Container)
}

// unlessStarted returns unknown for an attempt unless another server has started it: then
// its pod has the command.
func (c *Client) unlessStarted(ctx context.Context, attempt launcher.Attempt, unknown verdict) verdict {
	if unknown.end == nil {
		return unknown
	}
	project, err := c.projects.find(ctx, attempt.GetProjectId())
	if err != nil {
		return unknown
	}
	name := pod.Name(attempt.GetTaskId())
	if pod.Gang(attempt) > 1 {
		name = pod.RankName(name, 0)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	there, err := c.api.CoreV1().Pods(project.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return unknown
	case err != nil:
		return c.verdictOn(err)
	case c.owns(there, attempt):
		return verdict{}
	}
	return unknown
}
