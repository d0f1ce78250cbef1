package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/flowforge/flowforge/compute/runner/sqlquery"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// runSQL runs the statement of an sql operator.
func (a *attempt) runSQL(work *flowforgev1.Sql) ending {
	return a.runCall(func(ctx context.Context) error {
		inputs, err := a.inputsOf(ctx)
		if err != nil {
			return err
		}
		request, err := sqlRequest(work, inputs, filepath.Join(a.paths.outputs, "result.parquet"))
		if err != nil {
			return err
		}
		if a.spec.Poll > 0 {
			return pollStatement(ctx, a, request)
		}
		return a.runStatement(ctx, request)
	})
}

// sqlRequest is the statement of an sql operator, with its connection and its parameters.
func sqlRequest(work *flowforgev1.Sql, inputs map[string]any, path string) (sqlquery.Request, error) {
	connection, _ := inputs[work.Connection].(map[string]any)
	if connection == nil {
		return sqlquery.Request{}, fmt.Errorf("the input %s is not a connection", work.Connection)
	}
	delete(inputs, work.Connection)
	r := sqlquery.Request{
		Query: work.Query, Args: inputs, ReadOnly: work.ReadOnly, MaxRows: work.MaxRows, MaxBytes: work.MaxBytes,
		Timeout: time.Duration(work.TimeoutMs) * time.Millisecond, Path: path,
	}
	r.Kind, _ = connection["kind"].(string)
	r.URL, _ = connection["url"].(string)
	r.Fields, _ = connection["fields"].(map[string]any)
	return r, nil
}

// inputsOf decodes the inputs of an operator, with the values of its secrets.
func (a *attempt) inputsOf(ctx context.Context) (map[string]any, error) {
	secrets, err := a.secrets.fetch(ctx)
	if err != nil {
		return nil, err
	}
	text, err := placeSecrets(a.spec.InputsJson, a.spec.Secrets, secrets)
	if err != nil {
		return nil, err
	}
	decoded, err := decodeJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the inputs are not valid JSON: %w", err)
	}
	inputs, isObject := decoded.(map[string]any)
	if !isObject {
		return nil, errors.New("the inputs are not a JSON object")
	}
	return inputs, nil
}

// runStatement runs a statement, and writes its outputs and a line to the log.
func (a *attempt) runStatement(ctx context.Context, r sqlquery.Request) error {
	begin := time.Now()
	result, err := sqlquery.Run(ctx, r)
	if err != nil {
		if removed := os.Remove(r.Path); removed != nil && !errors.Is(removed, os.ErrNotExist) {
			err = errors.Join(err, removed)
		}
		return err
	}
	took := time.Since(begin).Round(time.Millisecond)
	line := fmt.Sprintf("The statement changed %d rows in %s.", result.Rows, took)
	if result.Columns > 0 {
		line = fmt.Sprintf("The statement returned %d rows with %d columns in %s; the Parquet file has %d bytes.", result.Rows, result.Columns, took, result.Bytes)
	}
	a.system(levelInfo, line)
	return os.WriteFile(filepath.Join(a.paths.outputs, "rows"), []byte(strconv.FormatInt(result.Rows, 10)), 0o600)
}

// pollStatement runs the statement of a sensor, and writes the first row if its first value is true.
func pollStatement(ctx context.Context, a *attempt, r sqlquery.Request) error {
	row, found, err := sqlquery.First(ctx, r)
	if err != nil {
		return err
	}
	if !found {
		return notYetf("the statement returned no rows")
	}
	value, err := json.Marshal(row.Values[0])
	if err != nil {
		return err
	}
	if !row.True() {
		return notYetf("the first value of the first row is %s", shortened(string(value)))
	}
	object, err := json.Marshal(row.Object())
	if err != nil {
		return err
	}
	a.system(levelInfo, "The first value of the first row is "+shortened(string(value))+".")
	return errors.Join(
		os.WriteFile(filepath.Join(a.paths.outputs, "value"), value, 0o600),
		os.WriteFile(filepath.Join(a.paths.outputs, "row"), object, 0o600),
	)
}

// maxShownValue is the maximum length of a value in a message.
const maxShownValue = 200

func shortened(text string) string {
	if letters := []rune(text); len(letters) > maxShownValue {
		return string(letters[:maxShownValue]) + "…"
	}
	return text
}
