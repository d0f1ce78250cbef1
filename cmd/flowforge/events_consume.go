package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

const (
	// consumeWait is how long one request waits for events.
	consumeWait = 20
	// consumeRetry is the pause after an error of the connection.
	consumeRetry = 5 * time.Second
	// commandBatch is how many events are leased for a command, which may take long.
	commandBatch = 10
	// finalExit is the exit status of a command for an event that it can never process (EX_DATAERR).
	finalExit = 65
	// shownOutput is how many bytes of a failed command's output become the reason.
	shownOutput = 2000
)

func newEventsConsumeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "consume NAME [-- COMMAND...]",
		Short: "Process events as a consumer: print them, or run a command for each",
		Long: "Process events as a consumer, whose cursor the server stores. Without a command, each event is printed as a line of JSON\n" +
			"and then acknowledged. With a command, it runs once per event, with the event on standard input. An event is acknowledged\n" +
			"when its command exits with status 0. Otherwise, it is delivered again later, or becomes a dead letter: after the consumer's\n" +
			"maximum number of failures, or immediately with status 65. Several processes can use the same consumer.",
		Example: "  flowforge events consume mirror --create --type 'execution.*'\n" +
			"  flowforge events consume search-index -- ./index-model.sh",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || cmd.ArgsLenAtDash() == 0 || len(args) > 1 && cmd.ArgsLenAtDash() != 1 {
				return fmt.Errorf("usage: %s NAME [-- COMMAND...]", cmd.CommandPath())
			}
			return nil
		},
		RunE: runEventsConsume,
	}
	cmd.Flags().Bool("create", false, "create the consumer if it does not exist")
	addConsumerFlags(cmd)
	cmd.Flags().Int("batch", 0, "maximum number of events per request (default 100, or 10 with a command)")
	cmd.Flags().Duration("lease", time.Minute, "time to process the events of a request, up to 12h")
	cmd.Flags().Bool("once", false, "exit when there are no more events")
	cmd.Flags().Bool("all-projects", false, "a consumer of all projects (administrators)")
	addClientFlags(cmd)
	return cmd
}

// addConsumerFlags adds the flags of a new consumer.
func addConsumerFlags(cmd *cobra.Command) {
	cmd.Flags().StringArray("topic", nil, "for a new consumer: workflow, task, quota, artifact or audit (repeatable; default: all except audit)")
	cmd.Flags().StringArray("type", nil, "for a new consumer: type of events, or a pattern such as execution.* (repeatable)")
	cmd.Flags().String("start", "newest", "for a new consumer: where it starts: oldest, newest or the cursor of an event")
	cmd.Flags().Int("max-tries", 10, "for a new consumer: number of failures after which an event becomes a dead letter")
}

// consumer is a consumer that this process reads.
type consumer struct {
	*client
	cmd     *cobra.Command
	name    string
	suffix  string // query of all requests
	command []string
}

func (c *consumer) call(ctx context.Context, action string, in, out any) error {
	return c.client.call(ctx, http.MethodPost, consumerPath(c.name)+"/"+action+c.suffix, in, out)
}

func runEventsConsume(cmd *cobra.Command, args []string) error {
	api, err := newClient(cmd)
	if err != nil {
		return err
	}
	flags := cmd.Flags()
	if create, _ := flags.GetBool("create"); create {
		if err := createConsumer(cmd, api, args[0], true); err != nil {
			return err
		}
	}
	c := &consumer{client: api, cmd: cmd, name: args[0], suffix: everyProject(cmd), command: args[1:]}
	request := contract.ReadEvents{WaitSeconds: consumeWait}
	if request.Limit, _ = flags.GetInt("batch"); request.Limit == 0 && len(c.command) > 0 {
		request.Limit = commandBatch
	}
	lease, _ := flags.GetDuration("lease")
	if lease < time.Second {
		return errors.New("--lease must be at least 1s")
	}
	request.LeaseSeconds = int(lease / time.Second)
	once, _ := flags.GetBool("once")
	if once {
		request.WaitSeconds = 0
	}
	for {
		expires := time.Now().Add(lease)
		var l contract.EventLease
		err := c.call(cmd.Context(), "read", request, &l)
		if err == nil && l.Lease != nil {
			err = c.process(cmd.Context(), l, expires)
		}
		switch {
		case cmd.Context().Err() != nil:
			return nil //nolint:nilerr // the user stopped it
		case err != nil && (once || refused(err)):
			return err
		case err != nil:
			fmt.Fprintf(cmd.ErrOrStderr(), "flowforge: %v; retrying in %s\n", err, consumeRetry)
			if !sleep(cmd.Context(), consumeRetry) {
				return nil
			}
		case once && l.Lease == nil:
			return nil
		}
	}
}

// process processes the events of a lease. It releases what it did not answer.
func (c *consumer) process(ctx context.Context, l contract.EventLease, expires time.Time) error {
	answered := 0
	defer func() {
		if answered < len(l.Events) { // also after an interrupt; if it fails, the lease expires
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), consumeRetry)
			defer cancel()
			_ = c.call(ctx, "release", contract.ReleaseEvents{Lease: *l.Lease}, nil)
		}
	}()
	if len(c.command) == 0 {
		for _, e := range l.Events {
			if err := printLine(c.cmd, e); err != nil {
				return err
			}
		}
		if err := c.call(ctx, "acknowledge", contract.AcknowledgeEvents{Lease: *l.Lease}, nil); err != nil {
			return err
		}
		answered = len(l.Events)
		return nil
	}
	held := map[uuid.UUID]bool{} // executions with a failed event, whose later events left the lease
	for _, e := range l.Events {
		if ctx.Err() != nil || time.Now().After(expires) {
			return nil
		}
		if e.ExecutionID != nil && held[*e.ExecutionID] {
			answered++
			continue
		}
		failure, err := c.runFor(ctx, e)
		if err != nil || ctx.Err() != nil {
			return err
		}
		if failure == nil {
			err = c.call(ctx, "acknowledge", contract.AcknowledgeEvents{Lease: *l.Lease, Events: []string{e.ID}}, nil)
		} else {
			failure.Lease = *l.Lease
			var a contract.EventAnswer
			err = c.call(ctx, "fail", failure, &a)
			if e.ExecutionID != nil && len(a.DeadLetters) == 0 {
				held[*e.ExecutionID] = true
			}
		}
		if err != nil {
			return err
		}
		answered++
	}
	return nil
}

// runFor runs the command for an event. The failure is nil if the command succeeded; the error means that
// it cannot run at all.
func (c *consumer) runFor(ctx context.Context, e contract.LeasedEvent) (*contract.FailEvents, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	run := exec.CommandContext(ctx, c.command[0], c.command[1:]...)
	run.Env = append(os.Environ(), "FLOWFORGE_EVENT_ID="+e.ID, "FLOWFORGE_EVENT_TYPE="+e.Type)
	run.Stdin = bytes.NewReader(text)
	var stderr bytes.Buffer
	run.Stdout, run.Stderr = c.cmd.OutOrStdout(), &stderr
	err = run.Run()
	_, _ = c.cmd.ErrOrStderr().Write(stderr.Bytes())
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return nil, nil
	case !ended:
		return nil, fmt.Errorf("run %s: %w", c.command[0], err)
	}
	reason := strings.TrimSpace(stderr.String())
	if len(reason) > shownOutput {
		reason = "…" + strings.ToValidUTF8(reason[len(reason)-shownOutput:], "")
	}
	return &contract.FailEvents{Events: []string{e.ID}, Reason: strings.TrimSpace(exit.String() + ": " + reason), Final: exit.ExitCode() == finalExit}, nil
}
