package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/flowforge/flowforge/access/masking"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// secretsLimit bounds one request for secrets.
const secretsLimit = 30 * time.Second

// fetchSecrets fetches the values that were granted to the attempt. From then on they are
// masked in everything that the attempt writes or reports.
func (a *attempt) fetchSecrets(ctx context.Context) ([]string, error) {
	if len(a.spec.Secrets) == 0 {
		return nil, nil
	}
	message := &flowforgev1.GetSecretsRequest{TaskId: a.spec.TaskId}
	for _, s := range a.spec.Secrets {
		message.Grants = append(message.Grants, s.Grant)
	}
	var values []string
	var last error
	waiting := func() { a.system(levelWarn, "The attempt waits for its secrets. "+reasonOf(last)) }
	err := a.s.server.persistently(ctx, waiting, func() (failed error) {
		defer func() { last = failed }()
		ctx, cancel := context.WithTimeout(ctx, secretsLimit)
		defer cancel()
		req := connect.NewRequest(message)
		req.Header().Set("Authorization", "Bearer "+a.spec.Token)
		resp, err := a.s.server.tasks.GetSecrets(ctx, req)
		if err != nil {
			return rpcError("secrets", err)
		}
		if len(resp.Msg.Values) != len(message.Grants) {
			return &refusedError{message: "secrets: the server returned a different number of values"}
		}
		values = resp.Msg.Values
		return nil
	})
	if err == nil {
		a.masker.Store(masking.New(values...))
	}
	return values, err
}

// reasonOf is why the server returned no secrets.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*connect.Error](err); ok && connect.IsWireError(err) {
		return e.Message()
	}
	return "The server does not respond."
}

// placeSecrets replaces the marks in the inputs with the values.
func placeSecrets(inputs string, secrets []*flowforgev1.InputSecret, values []string) (string, error) {
	if len(secrets) == 0 {
		return inputs, nil
	}
	decoder := json.NewDecoder(strings.NewReader(inputs))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return "", fmt.Errorf("the inputs are not valid JSON: %w", err)
	}
	for i, s := range secrets {
		if s.Variable != "" {
			continue
		}
		var err error
		if document, err = setPointer(document, s.Pointer, values[i]); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(document)
	return string(text), err
}

// setSecrets sets the environment variables that have values of secrets.
func setSecrets(env environ, secrets []*flowforgev1.InputSecret, values []string) {
	for i, s := range secrets {
		if s.Variable != "" {
			env[s.Variable] = values[i]
		}
	}
}

// mask returns a text of the task or of another system as a report can have it: valid UTF-8 without the
// attempt's secrets. A report with another text could not be sent, nor could those of other attempts with it.
func (a *attempt) mask(text string) string { return a.masker.Load().Text(validText(text)) }

// maskResult does the same for the texts of the end report.
func (a *attempt) maskResult(f *flowforgev1.Finished) {
	f.Message, f.Traceback = a.mask(f.Message), a.mask(f.Traceback)
	for _, o := range f.Outputs {
		o.Filename, o.Metadata = a.mask(o.Filename), a.mask(o.Metadata)
		if value, ok := o.Content.(*flowforgev1.Output_Value); ok {
			value.Value = a.mask(value.Value)
		}
	}
}

// dropSecrets removes the file that holds them as soon as no process of the attempt can
// need it.
func (a *attempt) dropSecrets() {
	if len(a.spec.Secrets) == 0 {
		return
	}
	if err := os.Remove(a.paths.inputs); err != nil && !errors.Is(err, os.ErrNotExist) {
		a.s.logger.Error("The inputs of an attempt with secrets could not be removed.", "task", a.spec.TaskId, "error", err)
	}
}
