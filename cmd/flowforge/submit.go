package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/web/contract"
)

func newSubmitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "submit -f FILE",
		Short: "Register all definitions in a file (including Argo manifests) and launch the last one",
		Example: "  flowforge submit -f hello-world.yaml -i message=hello --wait\n" +
			"  flowforge submit -f etl.yaml --priority HIGH",
		Args: arguments(),
		RunE: runSubmit,
	}
	f := cmd.Flags()
	f.StringP("file", "f", "", "file with definitions in YAML or JSON; separate YAML documents with ---")
	f.StringArrayP("input", "i", nil, "an input or parameter: name=value or name.field=value (JSON or text), or name=@path to upload a file")
	f.String("inputs", "", "a JSON file with all inputs (- for standard input)")
	f.String("priority", "", "LOW, NORMAL, HIGH, or a number from 0 to 100 (default: the definition's priority, or NORMAL)")
	f.String("name", "", "a name for this execution")
	f.String("idempotency-key", "", "launch only once, even if requests with this key are repeated")
	f.Bool("wait", false, "show progress until the execution ends; exit 1 unless it succeeds")
	if err := cmd.MarkFlagRequired("file"); err != nil {
		panic(err) // the flag is defined above
	}
	addClientFlags(cmd)
	return cmd
}

func runSubmit(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	f := cmd.Flags()
	file, _ := f.GetString("file")
	inputs, err := c.inputs(cmd)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var last registration
	documents := workflow.Gather(workflow.Documents(content), argo.Format{})
	final := len(documents) - 1
	for final > 0 && documents[final] == nil {
		final--
	}
	for _, i := range workflow.InOrder(documents, argo.Format{}) {
		if documents[i] == nil {
			continue
		}
		answer, err := c.register(cmd, documents[i], file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, text := range answer.Notices {
			fmt.Fprintln(cmd.ErrOrStderr(), "Note:", text)
		}
		if i == final {
			last = answer
		}
	}
	if last.Name == "" {
		return fmt.Errorf("%s contains no definition", file)
	}
	if last.argo {
		inputs = asTexts(inputs)
	}
	priority, _ := f.GetString("priority")
	title, _ := f.GetString("name")
	key, _ := f.GetString("idempotency-key")
	request := contract.LaunchBody{WorkflowID: last.WorkflowID.String(), Version: last.Version, Priority: priority, Name: title, IdempotencyKey: key}
	if request.Inputs, err = json.Marshal(inputs); err != nil {
		return fmt.Errorf("encode inputs: %w", err)
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

// asTexts converts values to text, because Argo parameters are text. Files stay unchanged.
func asTexts(inputs map[string]any) map[string]any {
	out := make(map[string]any, len(inputs))
	for name, v := range inputs {
		switch v := v.(type) {
		case string:
			out[name] = v
		case map[string]any:
			out[name] = v
			if _, isFile := v["$file"]; isFile {
				continue
			}
			out[name] = jsonText(v)
		default:
			out[name] = jsonText(v)
		}
	}
	return out
}

func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}
