package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// folderDefinition is a workflow whose operator writes a folder of many small files. It
// reports the time after its last file.
const folderDefinition = `
name: bench.folder
version: 1.%[1]d.0
outputs: [{name: made, type: Float, from: make.made}]
operators:
  - name: make
    type: python
    outputs: [{name: parts, type: Directory}, {name: made, type: Float}]
    code:
      script: |
        import os, time
        outputs = os.environ["FLOWFORGE_OUTPUTS"]
        os.mkdir(os.path.join(outputs, "parts"))
        for k in range(%[1]d):
            with open(os.path.join(outputs, "parts", f"{k:06d}.txt"), "w") as f:
                f.write(f"sample {k} of the run at %[2]s\n" * 4)
        open(os.path.join(outputs, "made.json"), "w").write(repr(time.time()))
`

// measureFolder returns the time from the last written file to the end of the execution:
// hashing, uploading and recording n files.
func (s *server) measureFolder(ctx context.Context, n int) (time.Duration, error) {
	var launched, ended struct {
		ID         string    `json:"execution_id"`
		Status     string    `json:"status"`
		FinishedAt time.Time `json:"finished_at"`
		Outputs    struct {
			Made float64 `json:"made"`
		} `json:"outputs"`
		Error json.RawMessage `json:"error"`
	}
	document := fmt.Sprintf(folderDefinition, n, time.Now().Format(time.RFC3339Nano)) // bytes that are new to the store
	if err := s.call(ctx, http.MethodPost, "/api/v1/workflows", "application/yaml", []byte(document), &struct{}{}); err != nil {
		return 0, err
	}
	if err := s.call(ctx, http.MethodPost, "/api/v1/executions", "application/json", []byte(`{"workflow": "bench.folder"}`), &launched); err != nil {
		return 0, err
	}
	for ended.Status != "SUCCEEDED" {
		if ended.Status == "FAILED" || ended.Status == "CANCELLED" {
			return 0, fmt.Errorf("the execution is %s: %s", ended.Status, ended.Error)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		if err := s.call(ctx, http.MethodGet, "/api/v1/executions/"+launched.ID, "", nil, &ended); err != nil {
			return 0, err
		}
	}
	return ended.FinishedAt.Sub(time.Unix(0, int64(ended.Outputs.Made*1e9))), nil
}
