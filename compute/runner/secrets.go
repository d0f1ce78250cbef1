package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/flowforge/flowforge/access/masking"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// secretsLimit bounds one request for secrets.
const secretsLimit = 30 * time.Second

// attemptSecrets are the secrets of an attempt.
type attemptSecrets struct {
	a      *attempt
	masker atomic.Pointer[masking.Masker] // nil: it has none yet
}

// fetch fetches the values that were granted to the attempt. From then on they are
// masked in everything that the attempt writes or reports.
func (s *attemptSecrets) fetch(ctx context.Context) ([]string, error) {
	if len(s.a.spec.Secrets) == 0 {
		return nil, nil
	}
	message := &flowforgev1.GetSecretsRequest{TaskId: s.a.spec.TaskId}
	for _, s := range s.a.spec.Secrets {
		message.Grants = append(message.Grants, s.Grant)
	}
	var values []string
	var last error
	waiting := func() { s.a.system(levelWarn, "The attempt waits for its secrets. "+reasonOf(last)) }
	err := s.a.s.server.persistently(ctx, waiting, func() (failed error) {
		defer func() { last = failed }()
		ctx, cancel := context.WithTimeout(ctx, secretsLimit)
		defer cancel()
		req := connect.NewRequest(message)
		req.Header().Set("Authorization", "Bearer "+s.a.spec.Token)
		resp, err := s.a.s.server.tasks.GetSecrets(ctx, req)
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
		s.masker.Store(masking.New(values...))
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
func (s *attemptSecrets) mask(text string) string { return s.masker.Load().Text(validText(text)) }

// maskResult does the same for the texts of the end report.
func (s *attemptSecrets) maskResult(f *flowforgev1.Finished) {
	f.Message, f.Traceback = s.mask(f.Message), s.mask(f.Traceback)
	for _, o := range f.Outputs {
		o.Filename, o.Metadata = s.mask(o.Filename), s.mask(o.Metadata)
		if value, ok := o.Content.(*flowforgev1.Output_Value); ok {
			value.Value = s.mask(value.Value)
		}
	}
}

// drop removes the file that holds them as soon as no process of the attempt can
// need it.
func (s *attemptSecrets) drop() {
	if len(s.a.spec.Secrets) == 0 {
		return
	}
	if err := os.Remove(s.a.paths.inputs); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.a.s.logger.Error("The inputs of an attempt with secrets could not be removed.", "task", s.a.spec.TaskId, "error", err)
	}
}
