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

// lookPatience is for a registry to say what an image runs, from the begin of the look-up
// on, before the attempt is left for the next call of Start.
const lookPatience = time.Second

// imageLookup is what finds out what images run by themselves.
func (c Config) imageLookup() *image.Lookup {
	return image.New(image.Config{
		Known: c.ImageCommands, Credentials: c.RegistryConfig, Insecure: c.InsecureRegistries, Logger: c.Logger, Now: c.Now,
	})
}

// unnamed are the containers of an attempt that name no command. What is wrong with its
// fields is for Build to say.
func (c *Client) unnamed(attempt launcher.Attempt) ([]pod.Silent, string) {
	containers, architecture, err := pod.SilentContainers(attempt, pod.Options{Image: c.config.Image, TaskImage: c.config.TaskImage, Defaults: c.config.Defaults})
	if err != nil {
		return nil, ""
	}
	return containers, architecture
}

// imageCommands are what the images of containers run by themselves; or the verdict on an
// attempt of which that is not known.
func (c *Client) imageCommands(ctx context.Context, containers []pod.Silent, architecture string) (map[string]pod.ImageCommand, *verdict) {
	for _, one := range containers { // all are looked up at once
		_, _ = c.images.Find(ctx, one.Image, architecture, 0)
	}
	commands := map[string]pod.ImageCommand{}
	for _, one := range containers {
		command, err := c.images.Find(ctx, one.Image, architecture, lookPatience)
		if err != nil {
			v := c.unknownImage(one, err)
			return nil, &v
		}
		if len(command.Entrypoint)+len(command.Cmd) == 0 && !one.Args {
			v := refused(launcher.ClassImage, fmt.Sprintf("%s, and its image %s runs nothing by itself: it has neither ENTRYPOINT nor CMD. Write command in the container.", namesNone(one), one.Image))
			return nil, &v
		}
		commands[one.Image] = pod.ImageCommand(command)
	}
	return commands, nil
}

// unknownImage is the verdict on an attempt when it is not known what its image runs.
func (c *Client) unknownImage(one pod.Silent, err error) verdict {
	if errors.Is(err, image.ErrPending) {
		return c.judge(&standing{waiting: &launcher.Waiting{
			Code: launcher.WaitImage, Message: fmt.Sprintf("%s; what its image %s runs by itself is being looked up in its registry.", namesNone(one), one.Image),
		}})
	}
	failed, ok := errors.AsType[*image.Error](err)
	if !ok {
		return verdict{err: err}
	}
	said := fmt.Sprintf("%s, and what its image %s runs by itself cannot be looked up: %s.", namesNone(one), one.Image, failed.Reason)
	switch failing := c.config.Now().Sub(failed.Since); {
	case failed.Passing && failing < c.config.ImageTimeout:
		return c.judge(&standing{waiting: &launcher.Waiting{Code: launcher.WaitImage, Message: said}})
	case failed.Passing:
		said += fmt.Sprintf(" That has been so for %s.", failing.Round(time.Second))
	}
	return refused(launcher.ClassImage, said+" Write command in the container.")
}

func namesNone(one pod.Silent) string {
	if one.Container == pod.Container {
		return "The container names no command"
	}
	return fmt.Sprintf("The container %s names no command", one.Container)
}

// unlessStarted is what unknown says of an attempt, unless another server has started it:
// then its pod knows.
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
		return c.judge(err)
	case c.owns(there, attempt):
		return verdict{}
	}
	return unknown
}
