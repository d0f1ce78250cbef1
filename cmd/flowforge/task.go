package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/flowforge/flowforge/compute/runner"
	"github.com/flowforge/flowforge/platform/units"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	// failedTask is the exit status of `flowforge task` for an attempt that never started.
	failedTask = 125
	// maxSpec bounds an attempt's spec, in bytes.
	maxSpec = 64 << 20
	// maxTerminationText bounds a container's termination message, with room for the
	// overhead of JSON.
	maxTerminationText = 1500
)

// taskFlags are the settings of `flowforge task`.
type taskFlags struct {
	spec, resident, dir, termination string
}

func newTaskCommand() *cobra.Command {
	var flags taskFlags
	command := &cobra.Command{
		Use:   "task",
		Short: "Run one attempt and report it to the server, as inside a pod",
		Long: "Run one attempt and report it to the server, as inside a pod. The attempt is an\n" +
			"AttemptSpec in JSON, optionally gzipped; reports go to its api_endpoint. The exit\n" +
			"status is that of the command, or 125 if the command could not start. With\n" +
			"--resident, run attempts of a pool one after another until the pool has been empty\n" +
			"for a while.",
		Hidden: true,
		Args:   arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (flags.spec == "") == (flags.resident == "") {
				return errors.New("set either --spec or --resident")
			}
			if flags.resident != "" {
				return runResident(cmd.Context(), flags)
			}
			return runTask(cmd.Context(), flags)
		},
	}
	command.Flags().StringVar(&flags.spec, "spec", "", "file with the attempt")
	command.Flags().StringVar(&flags.resident, "resident", "", "file with the pool whose attempts to run")
	command.Flags().StringVar(&flags.dir, "dir", "/var/lib/flowforge/runner", "folder for the attempt's files")
	command.Flags().StringVar(&flags.termination, "termination-log", "/dev/termination-log", "termination message file of the container, if it exists")
	return command
}

func runTask(ctx context.Context, flags taskFlags) error {
	var spec flowforgev1.AttemptSpec
	if err := readSpec(flags.spec, &spec); err != nil {
		return terminated(flags.termination, fmt.Errorf("--spec %s: %w", flags.spec, err))
	}
	config, err := podConfig(flags.dir)
	if err != nil {
		return terminated(flags.termination, err)
	}
	config.Server.URL = spec.GetApiEndpoint()
	end, err := runner.Task(ctx, config, &spec)
	if err != nil {
		return terminated(flags.termination, err)
	}
	writeTermination(flags.termination, termination{
		Class: end.GetClass(), Outcome: runner.OutcomeName(end.GetOutcome()), Message: end.GetMessage(),
		ExitCode: int(end.GetExitCode()), Reported: end.Reported && !end.Pending,
	})
	return taskResult(end.Finished)
}

// readSpec reads an attempt in JSON, gzipped or plain.
func readSpec(path string, spec *flowforgev1.AttemptSpec) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return err
		}
		if data, err = io.ReadAll(io.LimitReader(unzipped, maxSpec)); err != nil {
			return err
		}
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, spec)
}

// podConfig reads the configuration of a runner in a pod from its environment.
func podConfig(dir string) (runner.Config, error) {
	config, err := runnerConfig(dir)
	if err != nil {
		return config, err
	}
	rank, err := runner.Rank(os.Getenv)
	if err != nil {
		return config, err
	}
	config.Pod = &runner.Pod{
		Rank: rank, Address: os.Getenv("FLOWFORGE_POD_IP"), Scratch: filepath.Join(config.Dir, "scratch"),
		Private: os.Getenv("FLOWFORGE_PRIVATE_DIR"),
	}
	if config.Pod.Image, err = runner.ParseImageCommand(os.Getenv(runner.ImageVariable)); err != nil {
		return config, err
	}
	// The container starts in the working directory of its image.
	if config.Pod.Folder, err = os.Getwd(); err != nil {
		config.Pod.Folder = ""
	}
	if config.Pod.Grace, err = seconds("FLOWFORGE_TERMINATION_GRACE"); err != nil {
		return config, err
	}
	if text := os.Getenv("FLOWFORGE_GANG_TIMEOUT"); text != "" {
		if config.Pod.GangTimeout, err = units.ParseDuration(text); err != nil {
			return config, fmt.Errorf("FLOWFORGE_GANG_TIMEOUT: %w", err)
		}
	}
	if text := os.Getenv("FLOWFORGE_CHECKPOINT_INTERVAL"); text != "" {
		if config.SaveEvery, err = units.ParseDuration(text); err != nil {
			return config, fmt.Errorf("FLOWFORGE_CHECKPOINT_INTERVAL: %w", err)
		}
	}
	folder := filepath.Join(filepath.Dir(config.Executable), sdkFolder)
	if _, err := os.Stat(filepath.Join(folder, "flowforge")); err == nil {
		config.SDK = folder
	}
	config.Server.Client, err = taskClient()
	return config, err
}

func seconds(name string) (time.Duration, error) {
	text := os.Getenv(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: %q is not a number of seconds", name, text)
	}
	return time.Duration(n) * time.Second, nil
}

// termination is the JSON form of launcher.Termination, which the launcher reads.
type termination struct {
	Class    string `json:"class"`
	Outcome  string `json:"outcome"`
	Message  string `json:"message"`
	ExitCode int    `json:"exit_code"`
	Reported bool   `json:"reported"`
}

// terminated records err as the reason why the task never started.
func terminated(path string, err error) error {
	writeTermination(path, termination{Class: "start_failed", Outcome: "start_failed", Message: err.Error(), ExitCode: -1})
	return &exitError{code: failedTask, message: err.Error()}
}

// writeTermination writes t to the termination message file. Outside a cluster that file does
// not exist, and nothing is written.
func writeTermination(path string, t termination) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return
	}
	if text := []rune(t.Message); len(text) > maxTerminationText {
		t.Message = string(text[:maxTerminationText]) + "…"
	}
	data, err := json.Marshal(t)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "flowforge: write the termination message: "+err.Error())
	}
}

// taskResult converts the outcome of the attempt to the exit status of this program.
func taskResult(finished *flowforgev1.Finished) error {
	switch {
	case finished.GetOutcome() == flowforgev1.Outcome_OUTCOME_SUCCEEDED:
		return nil
	case finished.GetExitCode() > 0:
		return &exitError{code: int(finished.GetExitCode()), message: finished.GetMessage()}
	}
	return &exitError{code: failedTask, message: finished.GetMessage()}
}
