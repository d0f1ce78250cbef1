package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/engine/launchfile"
	"github.com/flowforge/flowforge/web/contract"
)

func newLaunchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "launch WORKFLOW[@VERSION] | --file launch.yaml",
		Short: "Launch a workflow: -i name=value, -i name=@file, --inputs file.json, --file launch.yaml",
		Example: "  flowforge launch digits.train -i epochs=5 --tag baseline --wait\n" +
			"  flowforge launch digits.train@1.0.0 --inputs inputs.json --idempotency-key nightly-2026-11-21\n" +
			"  flowforge launch --file launch.yaml -i epochs=5",
		Args: func(cmd *cobra.Command, args []string) error {
			if file, _ := cmd.Flags().GetString("file"); file != "" && len(args) == 0 {
				return nil
			}
			return arguments("WORKFLOW")(cmd, args)
		},
		RunE: runLaunch,
	}
	f := cmd.Flags()
	f.StringArrayP("input", "i", nil, "an input: name=value or name.field=value (JSON or text), or name=@path to upload a file")
	f.String("inputs", "", "a JSON file with all inputs (- for standard input)")
	f.StringP("file", "f", "", "a launch file, as in the YAML view of the launch form (- for standard input); flags override its values")
	f.String("preset", "", "name or ID of a preset; -i and --inputs override its values")
	f.String("priority", "", "LOW, NORMAL, HIGH, or a number from 0 to 100 (default: the definition's priority, or NORMAL)")
	f.String("name", "", "a name for this execution")
	f.StringArray("tag", nil, "a tag for this execution; repeat the flag for several tags")
	f.String("note", "", "a note for this execution")
	f.String("idempotency-key", "", "launch only once, even if requests with this key are repeated")
	addCacheFlags(cmd)
	addTTLFlags(cmd)
	f.Bool("dry-run", false, "check the inputs and forecast the start without launching; exit 1 if the launch would fail")
	f.Bool("wait", false, "show progress until the execution ends; exit 1 unless it succeeds")
	addClientFlags(cmd)
	return cmd
}

func runLaunch(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	request, err := c.launchRequest(cmd, args)
	if err != nil {
		return err
	}
	f := cmd.Flags()
	if dry, _ := f.GetBool("dry-run"); dry {
		return c.dryRun(cmd, request)
	}
	var e contract.Launched
	if err := c.call(cmd.Context(), http.MethodPost, "/api/v1/executions", request, &e); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s/executions/%s\n", e.ExecutionID, c.base, e.ExecutionID)
	if wait, _ := f.GetBool("wait"); wait {
		return c.follow(cmd, e.ExecutionID.String(), "SUCCEEDED")
	}
	return nil
}

// launchRequest is the request of the arguments: the file, if there is one, with the values of
// the flags.
func (c *client) launchRequest(cmd *cobra.Command, args []string) (request contract.LaunchBody, err error) {
	file, err := readLaunchFile(cmd)
	if err != nil {
		return request, err
	}
	given, err := c.inputs(cmd)
	if err != nil {
		return request, err
	}
	maps.Copy(file.Inputs, given)
	if len(args) > 0 {
		file.Workflow, file.Version, _ = strings.Cut(args[0], "@")
	}
	for flag, value := range map[string]*string{"priority": &file.Priority, "name": &file.Name, "note": &file.Note, "idempotency-key": &file.Key, "preset": &file.Preset} {
		if text, _ := cmd.Flags().GetString(flag); text != "" {
			*value = text
		}
	}
	request = contract.LaunchBody{Workflow: file.Workflow, Version: file.Version, Priority: file.Priority, Name: file.Name, Preset: file.Preset, IdempotencyKey: file.Key, TTL: ttlFlags(cmd)}
	request.Tags, request.Note = file.Tags, file.Note
	if tags, _ := cmd.Flags().GetStringArray("tag"); len(tags) > 0 {
		request.Tags = tags
	}
	if request.TTL == nil && len(file.TTL) > 0 {
		request.TTL = file.TTL
	}
	if request.Cache, err = cacheFlags(cmd); err != nil {
		return request, err
	}
	if request.Cache == nil && (file.Cache != "" || len(file.CacheOf) > 0) {
		request.Cache = &contract.CacheInput{Mode: file.Cache, Nodes: file.CacheOf}
	}
	if request.Inputs, err = json.Marshal(file.Inputs); err != nil {
		return request, fmt.Errorf("encode inputs: %w", err)
	}
	return request, nil
}

// readLaunchFile reads the file of --file. Without one, it returns an empty launch.
func readLaunchFile(cmd *cobra.Command) (launchfile.File, error) {
	path, _ := cmd.Flags().GetString("file")
	if path == "" {
		return launchfile.File{Inputs: map[string]any{}}, nil
	}
	var b []byte
	var err error
	if path == "-" {
		b, err = io.ReadAll(cmd.InOrStdin())
	} else {
		b, err = os.ReadFile(path)
	}
	if err != nil {
		return launchfile.File{}, fmt.Errorf("--file: %w", err)
	}
	file, _, problems := launchfile.Parse(string(b))
	var wrong []error
	for _, p := range problems {
		wrong = append(wrong, fmt.Errorf("%s:%d: %s", path, p.Line, p.Message))
	}
	return file, errors.Join(wrong...)
}

// dryRun prints the forecast of a launch.
func (c *client) dryRun(cmd *cobra.Command, request contract.LaunchBody) error {
	var f contract.DryRun
	if err := c.call(cmd.Context(), http.MethodPost, "/api/v1/executions?dry_run=true", request, &f); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	for _, e := range f.Errors {
		fmt.Fprintf(out, "%s: %s\n", e.Path, e.Message)
	}
	node := ""
	if f.Forecast.Node != "" {
		node = f.Forecast.Node + ": "
	}
	fmt.Fprintf(out, "%s%s\n", node, f.Forecast.Message)
	for _, choice := range f.Forecast.Choices {
		fmt.Fprintf(out, "  on %s: %s\n", choice.GPUType, choice.Message)
	}
	if !f.Valid {
		return &exitError{code: 1, message: "nothing was launched: correct the inputs"}
	}
	if f.Forecast.Verdict == "never" {
		return &exitError{code: 1, message: "this execution can never start"}
	}
	return nil
}

// inputs merges --inputs with every -i.
func (c *client) inputs(cmd *cobra.Command) (map[string]any, error) {
	inputs := map[string]any{}
	if path, _ := cmd.Flags().GetString("inputs"); path != "" {
		var b []byte
		var err error
		if path == "-" {
			b, err = io.ReadAll(cmd.InOrStdin())
		} else {
			b, err = os.ReadFile(path)
		}
		if err != nil {
			return nil, fmt.Errorf("--inputs: %w", err)
		}
		if err := decodeJSON(string(b), &inputs); err != nil {
			return nil, fmt.Errorf("--inputs %s is not a JSON object: %w", path, err)
		}
		if inputs == nil {
			return nil, fmt.Errorf("--inputs %s is not a JSON object: it is null", path)
		}
	}
	pairs, _ := cmd.Flags().GetStringArray("input")
	for _, pair := range pairs {
		name, text, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("-i %q: write name=value", pair)
		}
		if path, isFile := strings.CutPrefix(text, "@"); isFile {
			ref, err := c.upload(cmd, path)
			if err != nil {
				return nil, fmt.Errorf("-i %s: %w", name, err)
			}
			inputs[name] = ref
			continue
		}
		var v any
		if decodeJSON(text, &v) != nil {
			v = text // not JSON, so plain text
		}
		inputs[name] = v
	}
	return inputs, nil
}

// decodeJSON decodes one value and keeps numbers as written.
func decodeJSON(text string, v any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) { // More reports nothing for a bracket
		return errors.New("unexpected text after the first value")
	}
	return nil
}

// upload sends a file and returns the input value that refers to it.
func (c *client) upload(cmd *cobra.Command, path string) (map[string]any, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	name := filepath.Base(path)
	res, err := c.send(cmd.Context(), http.MethodPost, "/api/v1/blobs?filename="+url.QueryEscape(name), "application/octet-stream", f)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var ref map[string]any
	if err := json.NewDecoder(res.Body).Decode(&ref); err != nil {
		return nil, fmt.Errorf("read the server's response: %w", err)
	}
	return ref, nil
}

// serverPatience is the time that a command waits for a server that does not respond. The
// execution continues meanwhile.
const serverPatience = time.Minute

// follow shows the progress of an execution until it ends. A final state other than wanted is
// an error.
func (c *client) follow(cmd *cobra.Command, id, until string) error {
	out := cmd.OutOrStdout()
	file, isFile := out.(*os.File)
	live := isFile && isatty.IsTerminal(file.Fd())
	previous := ""
	answered := time.Now()
	var e contract.ExecutionBody
	err := poll(cmd.Context(), 300*time.Millisecond, func() (bool, error) {
		e = contract.ExecutionBody{}
		if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/executions/"+url.PathEscape(id), nil, &e); err != nil {
			if !refused(err) && time.Since(answered) < serverPatience {
				return false, nil
			}
			return false, err
		}
		answered = time.Now()
		line := progressLine(e)
		switch {
		case line == previous:
		case live:
			fmt.Fprintf(out, "\r\x1b[K%s", line)
		default:
			fmt.Fprintln(out, line)
		}
		previous = line
		return ended(e), nil
	})
	if live {
		fmt.Fprintln(out)
	}
	if err != nil {
		return err
	}
	if e.Status == until {
		return nil
	}
	message := "execution " + e.Status
	if e.Error != nil && e.Error.Message != "" {
		message += ": " + e.Error.Message
	}
	return &exitError{code: 1, message: message}
}

// progressLine returns a line such as "RUNNING  [######----]  6 of 10 nodes  train".
func progressLine(e contract.ExecutionBody) string {
	const width = 24
	filled := 0
	if e.Progress.Total > 0 {
		filled = width * e.Progress.Completed / e.Progress.Total
	}
	var running []string
	for _, n := range e.Nodes {
		if n.Status == "RUNNING" && len(running) < 3 {
			running = append(running, n.Operator)
		}
	}
	return fmt.Sprintf("%-9s [%s%s] %d of %d nodes  %s", e.Status, strings.Repeat("#", filled), strings.Repeat("-", width-filled),
		e.Progress.Completed, e.Progress.Total, strings.Join(running, ", "))
}
