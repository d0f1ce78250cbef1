package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// server is a separate FlowForge server.
type server struct {
	cmd         *exec.Cmd
	base, token string
}

func startServer(ctx context.Context, binary, dir string, as int) (*server, error) {
	s := &server{cmd: exec.CommandContext(ctx, binary, "serve")}
	s.cmd.Env = append(os.Environ(), "FLOWFORGE_DATA_DIR="+dir, "FLOWFORGE_ADDR=127.0.0.1:0", "FLOWFORGE_DATABASE_URL=", "HOME="+dir)
	s.cmd.Stderr = os.Stderr
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(os.Interrupt) }
	if as != os.Geteuid() {
		s.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(as), Gid: uint32(as)}} //nolint:gosec // an account
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if s.base = address.FindString(lines.Text()); s.base != "" {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			token, err := os.ReadFile(filepath.Join(dir, "admin.token"))
			s.token = strings.TrimSpace(string(token))
			return s, err
		}
	}
	return nil, errors.Join(errors.New("the server did not start"), s.cmd.Wait())
}

func (s *server) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
}

// call sends body if it is not nil, and decodes the response into answer.
func (s *server) call(ctx context.Context, method, path, mediaType string, body []byte, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	if body != nil {
		req.Header.Set("Content-Type", mediaType)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return json.Unmarshal(text, answer)
}

// definition is a workflow whose operator read gets the file that make writes. Both report
// times: make before and after its write, read before and after its read.
const definition = `
name: bench.channels-%[1]s
version: 1.0.0
inputs: [{name: seed, type: Integer}]
outputs:
  - {name: started, type: Float, from: make.started}
  - {name: made, type: Float, from: make.made}
  - {name: began, type: Float, from: read.began}
  - {name: ended, type: Float, from: read.ended}
operators:
  - name: make
    type: python
    inputs: [{name: seed, from: inputs.seed}]
    outputs: [{name: file, type: File, storage: %[1]s}, {name: started, type: Float}, {name: made, type: Float}]
    code:
      script: |
        import json, os, time
        open(os.path.join(os.environ["FLOWFORGE_OUTPUTS"], "started.json"), "w").write(repr(time.time()))
        seed = json.load(open(os.environ["FLOWFORGE_INPUTS"]))["seed"]
        lines = "".join(f"{seed},{k},{(k * 7919 + seed) %% 100003 / 100003:.6f},train\n" for k in range(40000)).encode()
        left = %[2]d
        with open(os.path.join(os.environ["FLOWFORGE_OUTPUTS"], "file.csv"), "wb") as f:
            while left > 0:
                left -= f.write(lines[:left])
        open(os.path.join(os.environ["FLOWFORGE_OUTPUTS"], "made.json"), "w").write(repr(time.time()))
  - name: read
    type: python
    inputs: [{name: file, from: make.file}]
    outputs: [{name: began, type: Float}, {name: ended, type: Float}]
    code:
      script: |
        import json, os, time
        began = time.time()
        path, size = json.load(open(os.environ["FLOWFORGE_INPUTS"]))["file"], 0
        with open(path, "rb", buffering=0) as f:
            while chunk := f.read(1 << 20):
                size += len(chunk)
        assert size == %[2]d, size
        for name, value in (("began", began), ("ended", time.time())):
            open(os.path.join(os.environ["FLOWFORGE_OUTPUTS"], name + ".json"), "w").write(repr(value))
`

// outcome is one run.
type outcome struct {
	channel       string
	both          time.Duration // from the begin of make to the end of read
	began, read   time.Duration // since make had written its file; before that, below 0
	moved, copied int64         // bytes
}

// measure runs the workflow once. seed makes its bytes unique, so that the store has none of them.
func (s *server) measure(ctx context.Context, storage string, megabytes, seed int) (outcome, error) {
	document := fmt.Sprintf(definition, storage, int64(megabytes)*1e6)
	var registered, launched, ended struct {
		ID      string `json:"execution_id"`
		Status  string `json:"status"`
		Outputs struct {
			Started, Made, Began, Ended float64
		} `json:"outputs"`
		Error json.RawMessage `json:"error"`
	}
	if err := s.call(ctx, http.MethodPost, "/api/v1/workflows", "application/yaml", []byte(document), &registered); err != nil {
		return outcome{}, err
	}
	body, err := json.Marshal(map[string]any{"workflow": "bench.channels-" + storage, "inputs": map[string]any{"seed": seed}})
	if err != nil {
		return outcome{}, err
	}
	if err := s.call(ctx, http.MethodPost, "/api/v1/executions", "application/json", body, &launched); err != nil {
		return outcome{}, err
	}
	for ended.Status != "SUCCEEDED" {
		if ended.Status == "FAILED" || ended.Status == "CANCELLED" {
			return outcome{}, fmt.Errorf("the execution is %s: %s", ended.Status, ended.Error)
		}
		select {
		case <-ctx.Done():
			return outcome{}, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		if err := s.call(ctx, http.MethodGet, "/api/v1/executions/"+launched.ID, "", nil, &ended); err != nil {
			return outcome{}, err
		}
	}
	o := outcome{both: seconds(ended.Outputs.Ended - ended.Outputs.Started), began: seconds(ended.Outputs.Began - ended.Outputs.Made), read: seconds(ended.Outputs.Ended - ended.Outputs.Made)}
	return o, s.channelOf(ctx, launched.ID, &o)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// channelOf returns the channel that transferred the file.
func (s *server) channelOf(ctx context.Context, id string, o *outcome) error {
	var edges struct {
		Inputs []struct {
			Text    string `json:"text"`
			Channel *struct {
				Channel string `json:"channel"`
				Moved   int64  `json:"bytes_moved"`
				Copied  int64  `json:"bytes_copied"`
			} `json:"came"`
		} `json:"inputs"`
	}
	if err := s.call(ctx, http.MethodGet, "/api/v1/executions/"+id+"/nodes/read/inputs", "", nil, &edges); err != nil {
		return err
	}
	if len(edges.Inputs) != 1 || edges.Inputs[0].Channel == nil {
		return fmt.Errorf("the runner did not report the channel of the file: %+v", edges)
	}
	channel := edges.Inputs[0].Channel
	o.channel, o.moved, o.copied = channel.Channel, channel.Moved, channel.Copied
	fmt.Fprintf(os.Stderr, "%s (%.2f s, %.2f s, %.2f s)\n", edges.Inputs[0].Text, o.both.Seconds(), o.began.Seconds(), o.read.Seconds())
	return nil
}
