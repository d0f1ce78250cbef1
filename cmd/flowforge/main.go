// Command flowforge is the whole product in one binary: the server, the runner
// that supervises tasks, and the command line for people and scripts.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/platform/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	cmd, err := newRootCommand().ExecuteContextC(ctx)
	stop()
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled):
		if callsServer(cmd) { // the command did not complete
			os.Exit(interrupted)
		}
	default:
		if message := err.Error(); message != "" {
			fmt.Fprintln(os.Stderr, "flowforge: "+message)
		}
		os.Exit(exitCode(err))
	}
}

// interrupted is the exit status of a program that SIGINT ended.
const interrupted = 130

// exitError ends the program with its own exit status, for example after `launch --wait`
// followed a failed execution.
type exitError struct {
	code    int
	message string
}

func (e *exitError) Error() string { return e.message }

func exitCode(err error) int {
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return 1
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "flowforge",
		Short:         "Launch, watch and compare typed machine-learning workflows",
		Version:       release.Describe(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	group(root, "workflows", "Workflows and executions:",
		append(newPythonCommands(), newApplyCommand(), newLaunchCommand(), newOptionsCommand(), newPresetCommand(), newSweepCommand(), newScheduleCommand(), newBackfillCommand(), newTriggerCommand(), newEventsCommand(), newSubmitCommand(), newGetCommand(), newListCommand(), newLabelCommand(), newCompareCommand(), newDiffCommand(), newLineageCommand(), newModelCommand(), newDatasetCommand(), newReportCommand(), newLogsCommand(), newWhyCommand())...)
	group(root, "control", "Control executions:",
		newCancelCommand(), newPauseCommand(), newUnpauseCommand(), newResumeCommand(), newDeleteCommand(), newNodeCommand(), newFailuresCommand())
	group(root, "resources", "Limits, storage, connections, pools and notifications:", newQuotaCommand(), newSemaphoresCommand(), newConnectionCommand(), newSecretCommand(), newSecretStoreCommand(), newPoolCommand(), newNotificationCommand(), newInboxCommand(), newMetaflowCommand(), newGCCommand())
	group(root, "server", "Server:", newServeCommand(), newWorkerCommand(), newBackupCommand(), newRestoreCommand(), newMigrateCommand(), newSecretsCommand(), newLoginCommand())
	root.AddCommand(newRunnerCommand(), newTaskCommand(), newInstallCommand(), newMembersCommand(), newClickHouseEngineCommand())
	return root
}

// group adds commands; the help lists them under one title.
func group(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, c := range commands {
		c.GroupID = id
		root.AddCommand(c)
	}
}
