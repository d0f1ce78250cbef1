package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/outcome"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// verdict is the result of starting one attempt; the zero value means that it was
// started.
type verdict struct {
	end     *launcher.End
	waiting *launcher.Waiting
	err     error
}

func (v verdict) started() bool { return v.end == nil && v.waiting == nil && v.err == nil }

// Start creates the pods of attempts, each under its own name, so it is idempotent. It
// returns a *launcher.StartError for attempts that the cluster will never admit and for
// those that it has not admitted yet.
func (c *Client) Start(ctx context.Context, attempts []launcher.Attempt) error {
	verdicts := make([]verdict, len(attempts))
	var unreachable, answered atomic.Bool // when the cluster does not respond, the others are skipped
	var group sync.WaitGroup
	begin := func(i int, commands map[string]pod.ImageCommand) {
		defer c.release()
		v := c.startOne(ctx, attempts[i], commands)
		if v.started() {
			c.recent.add(attempts[i].GetTaskId())
		}
		if v.waiting != nil && v.waiting.Code == launcher.WaitCluster && silent(v.err) {
			unreachable.Store(true)
		} else {
			answered.Store(true)
		}
		verdicts[i] = v
	}
	for i, attempt := range attempts {
		if c.recent.has(attempt.GetTaskId()) {
			continue
		}
		if containers, architecture := c.unnamed(attempt); len(containers) > 0 {
			// It takes a slot only after its registry has answered: other attempts
			// continue in the meantime.
			group.Go(func() {
				commands, unknown := c.imageCommands(ctx, containers, architecture)
				if unknown != nil {
					verdicts[i] = c.unlessStarted(ctx, attempt, *unknown)
				} else if err := c.acquire(ctx); err != nil {
					verdicts[i] = verdict{err: err}
				} else {
					begin(i, commands)
				}
			})
			continue
		}
		if err := c.acquire(ctx); err != nil {
			verdicts[i] = verdict{err: err}
			continue
		}
		if unreachable.Load() && !answered.Load() {
			c.release()
			verdicts[i] = verdict{err: errSkipped}
			continue
		}
		group.Go(func() { begin(i, nil) })
	}
	group.Wait()
	return c.sum(attempts, verdicts)
}

var errSkipped = errors.New("not tried, because the cluster did not answer for another")

// sum combines the verdicts into one error; nil when all attempts were started.
func (c *Client) sum(attempts []launcher.Attempt, verdicts []verdict) error {
	all := &launcher.StartError{Refused: map[string]launcher.End{}, Waiting: map[string]launcher.Waiting{}}
	for i, v := range verdicts {
		task := attempts[i].GetTaskId()
		switch {
		case v.end != nil:
			v.end.FinishedAt = c.config.Now()
			all.Refused[task] = *v.end
			continue
		case v.waiting != nil:
			all.Waiting[task] = *v.waiting
		}
		if v.err != nil && (all.Err == nil || !errors.Is(v.err, errSkipped)) {
			all.Err = fmt.Errorf("start %s: %w: %w", task, launcher.ErrUnreachable, v.err)
		}
	}
	if len(all.Refused) == 0 && all.Err == nil {
		return nil
	}
	return all
}

// silent reports whether an error is not a response of the cluster.
func silent(err error) bool {
	var answer apierrors.APIStatus
	return !errors.As(err, &answer)
}

func (c *Client) startOne(ctx context.Context, attempt launcher.Attempt, commands map[string]pod.ImageCommand) verdict {
	project, err := c.projects.find(ctx, attempt.GetProjectId())
	if apperr.Is(err, apperr.NotFound) {
		return refused(launcher.ClassNamespace, "The project of the attempt no longer exists.")
	}
	if err != nil {
		return verdict{err: err}
	}
	options := c.config.PodOptions(project)
	options.ImageCommands = commands
	if pod.Gang(attempt) > 1 {
		if options.JobSet, err = c.hasJobSets(); err != nil {
			return c.verdictOn(err)
		}
	}
	objects, err := pod.Build(attempt, options)
	if err != nil {
		return buildFailed(err)
	}
	err = c.create(ctx, attempt, objects)
	if namespaceMissing(err) && c.prepare != nil {
		if err := c.prepare(ctx, project); err != nil {
			return c.verdictOn(err)
		}
		err = c.create(ctx, attempt, objects)
	}
	return c.verdictOn(err)
}

func refused(class launcher.Class, message string) verdict {
	return verdict{end: &launcher.End{Class: class, Message: message}}
}

// buildFailed returns the verdict on an attempt that cannot become a pod.
func buildFailed(err error) verdict {
	parts := []string{apperr.MessageOf(err)}
	for _, field := range apperr.FieldsOf(err) {
		parts = append(parts, field.Path+": "+field.Message)
	}
	message := strings.Join(parts, " ")
	switch apperr.CodeOf(err) {
	case apperr.Forbidden:
		return refused(launcher.ClassRefused, message)
	case apperr.Invalid:
		return refused(launcher.ClassStart, message)
	}
	return verdict{err: err}
}

// verdictOf returns the meaning of an error during the creation of a pod.
func (c *Client) verdictOf(err error) verdict {
	if apperr.Is(err, apperr.NotFound) {
		return refused(launcher.ClassNamespace, apperr.MessageOf(err))
	}
	v := buildFailed(err)
	if v.end == nil {
		v = c.verdictOn(err)
	}
	if v.end != nil {
		v.end.FinishedAt = c.config.Now()
	}
	return v
}

// verdictOn returns the meaning of the cluster's error for an attempt.
func (c *Client) verdictOn(err error) verdict {
	if err == nil {
		return verdict{}
	}
	if e, ok := errors.AsType[*verdictError](err); ok {
		return verdict{end: e.end, waiting: e.waiting, err: e.retry()}
	}
	end, waiting := outcome.Refusal(err)
	if end != nil {
		return verdict{end: end}
	}
	return verdict{waiting: waiting, err: err}
}

// verdictError is a verdict that does not come from the cluster.
type verdictError struct {
	end     *launcher.End
	waiting *launcher.Waiting
}

// Error returns the message of the verdict.
func (s *verdictError) Error() string {
	if s.end != nil {
		return s.end.Message
	}
	return s.waiting.Message
}

// retry returns the error of an attempt that must be started again.
func (s *verdictError) retry() error {
	if s.end != nil {
		return nil
	}
	return errors.New(s.waiting.Message)
}

// namespaceMissing reports whether a pod was not created because its namespace, or the
// service account in it, does not exist yet.
func namespaceMissing(err error) bool {
	if apierrors.IsNotFound(err) {
		return true
	}
	_, waiting := outcome.Refusal(err)
	return apierrors.IsForbidden(err) && waiting != nil && waiting.Code == launcher.WaitStarting
}

// acquire takes a slot for a call to the cluster.
func (c *Client) acquire(ctx context.Context) error {
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for a slot for calls to the cluster: %w", ctx.Err())
	}
}

func (c *Client) release() { <-c.slots }
