package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/runner"
)

// failedTask is the status of `flowforge task` when an attempt that never ran failed.
const failedTask = 125

func newTaskCommand() *cobra.Command {
	var specFile, dir string
	command := &cobra.Command{
		Use:   "task",
		Short: "Run one attempt and report it to the server, as inside a pod",
		Long: "Run one attempt and report it to the server, as inside a pod. The attempt is an\n" +
			"AttemptSpec in JSON; its api_endpoint is where the reports go. The exit status is\n" +
			"the command's own, or 125 when it could not be started.",
		Hidden: true,
		Args:   arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := os.ReadFile(specFile)
			if err != nil {
				return fmt.Errorf("--spec: %w", err)
			}
			var spec flowforgev1.AttemptSpec
			if err := protojson.Unmarshal(data, &spec); err != nil {
				return fmt.Errorf("--spec %s: %w", specFile, err)
			}
			config, err := runnerConfig(dir)
			if err != nil {
				return err
			}
			config.Server = runner.Endpoint{URL: spec.GetApiEndpoint()}
			finished, err := runner.Task(cmd.Context(), config, &spec)
			if err != nil {
				return err
			}
			return taskResult(finished)
		},
	}
	command.Flags().StringVar(&specFile, "spec", "", "file with the attempt")
	command.Flags().StringVar(&dir, "dir", "/var/lib/flowforge/runner", "folder for the attempt's files")
	_ = command.MarkFlagRequired("spec")
	return command
}

// taskResult gives the attempt's end as the status of this program.
func taskResult(finished *flowforgev1.Finished) error {
	switch {
	case finished.GetOutcome() == flowforgev1.Outcome_OUTCOME_SUCCEEDED:
		return nil
	case finished.GetExitCode() > 0:
		return &exitError{code: int(finished.GetExitCode()), message: finished.GetMessage()}
	}
	return &exitError{code: failedTask, message: finished.GetMessage()}
}
