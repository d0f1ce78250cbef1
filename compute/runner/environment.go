package runner

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// inherited reports whether tasks get a variable of the machine: programs need it to find
// their tools, and it cannot be a secret of the server.
func inherited(name string) bool {
	switch name {
	case "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "USER", "LOGNAME",
		"LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES":
		return true
	}
	return false
}

// installerVariable reports whether pip or uv needs a variable in addition: package indexes and
// the network configuration. The values may hold credentials, so tasks do not get them.
func installerVariable(name string) bool {
	switch strings.ToUpper(name) {
	case "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NETRC":
		return true
	}
	return strings.HasPrefix(name, "PIP_") || strings.HasPrefix(name, "UV_")
}

// defaultPath is used when the runner itself has no PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// maxVariable keeps a variable below the kernel's limit for one string.
const maxVariable = 64 << 10

// environ is a set of variables.
type environ map[string]string

// baseEnvironment selects the inherited variables of the process environment.
func baseEnvironment(process []string) environ {
	env := environ{"PATH": defaultPath, "LANG": "C.UTF-8", "HOME": "/tmp"}
	for _, entry := range process {
		name, value, _ := strings.Cut(entry, "=")
		if value != "" && inherited(name) {
			env[name] = value
		}
	}
	return env
}

// installerEnvironment returns the environment of pip, uv and git. Their folders for caches and
// temporary files are those of tasks, because in a pod the home of the process may be read-only.
func installerEnvironment(process []string, tasks environ) environ {
	env := baseEnvironment(process)
	for _, name := range []string{"HOME", "TMPDIR"} {
		if folder := tasks[name]; folder != "" {
			env[name] = folder
		}
	}
	for _, entry := range process {
		if name, value, _ := strings.Cut(entry, "="); installerVariable(name) {
			env[name] = value
		}
	}
	return env
}

func (e environ) list() []string {
	list := make([]string, 0, len(e))
	for name, value := range e {
		list = append(list, name+"="+value)
	}
	return list
}

// taskEnvironment returns the environment of an attempt. Variables of the definition
// override the inherited ones but not FLOWFORGE_*.
func taskEnvironment(base environ, spec *flowforgev1.AttemptSpec, inputs string, p paths, heartbeat time.Duration) environ {
	env := maps.Clone(base)
	env["PYTHONUNBUFFERED"] = "1"
	for name, value := range spec.Env {
		if name != "" && !strings.HasPrefix(name, "FLOWFORGE_") && !strings.ContainsAny(name, "=\x00") && !strings.Contains(value, "\x00") {
			env[name] = value
		}
	}
	env["PYTHONPATH"] = p.sdk
	if own := spec.Env["PYTHONPATH"]; own != "" {
		env["PYTHONPATH"] = p.sdk + string(os.PathListSeparator) + own
	}
	maps.Copy(env, parameters(inputs))
	env["FLOWFORGE_TASK_ID"] = spec.TaskId
	env["FLOWFORGE_WORKFLOW_ID"] = spec.ExecutionId
	env["FLOWFORGE_TENANT_ID"] = spec.TenantId
	env["FLOWFORGE_PROJECT_ID"] = spec.ProjectId
	env["FLOWFORGE_NODE"] = spec.Node
	env["FLOWFORGE_ATTEMPT"] = strconv.Itoa(int(spec.Attempt))
	env["FLOWFORGE_RETRY"] = strconv.Itoa(int(spec.Retries))
	env["FLOWFORGE_API_ENDPOINT"] = spec.ApiEndpoint
	env["FLOWFORGE_LOG_ENDPOINT"] = spec.ApiEndpoint
	env["FLOWFORGE_AUTH_TOKEN"] = spec.Token
	env["FLOWFORGE_HEARTBEAT_INTERVAL"] = strconv.Itoa(max(1, int(heartbeat.Seconds())))
	env["FLOWFORGE_INPUTS"] = p.inputs
	env["FLOWFORGE_OUTPUTS"] = p.outputs
	env["FLOWFORGE_CHECKPOINTS"] = p.checkpoints
	env["FLOWFORGE_SPOOL"] = p.spool
	env["FLOWFORGE_PREEMPTED"] = p.preempted
	env["FLOWFORGE_TRACEBACK"] = p.traceback
	if spec.Traceparent != "" {
		env["TRACEPARENT"] = spec.Traceparent
	}
	return env
}

// connectionVariables returns FLOWFORGE_CONNECTION_<NAME>_<FIELD> for the fields of an input that is a
// connection, and _KIND and _URL; false for other inputs.
func connectionVariables(name string, raw json.RawMessage) (environ, bool) {
	var connection struct {
		Name   string                     `json:"$connection"`
		Kind   string                     `json:"kind"`
		URL    string                     `json:"url"`
		Fields map[string]json.RawMessage `json:"fields"`
	}
	if !bytes.Contains(raw, []byte(`"$connection"`)) || json.Unmarshal(raw, &connection) != nil || connection.Name == "" {
		return nil, false
	}
	prefix := "FLOWFORGE_CONNECTION_" + variableName(name) + "_"
	env := environ{}
	add := func(field, value string) {
		if value != "" && len(value) <= maxVariable && !strings.Contains(value, "\x00") {
			env[prefix+variableName(field)] = value
		}
	}
	for field, raw := range connection.Fields {
		value, _ := scalar(raw)
		add(field, value)
	}
	add("kind", connection.Kind)
	add("url", connection.URL)
	return env, true
}

// parameters returns FLOWFORGE_PARAM_<NAME> for every scalar among the inputs, and the variables of
// connections.
func parameters(inputsJSON string) environ {
	var inputs map[string]json.RawMessage
	if inputsJSON == "" || json.Unmarshal([]byte(inputsJSON), &inputs) != nil {
		return nil
	}
	params := make(environ, len(inputs))
	for name, raw := range inputs {
		if connection, ok := connectionVariables(name, raw); ok {
			maps.Copy(params, connection)
			continue
		}
		value, ok := scalar(raw)
		if ok && len(value) <= maxVariable && !strings.Contains(value, "\x00") {
			params["FLOWFORGE_PARAM_"+variableName(name)] = value
		}
	}
	return params
}

func scalar(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "", false
	}
	switch raw[0] {
	case '"':
		var text string
		err := json.Unmarshal(raw, &text)
		return text, err == nil
	case '{', '[', 'n':
		return "", false
	}
	return string(raw), true
}

// variableName returns name in upper case, with "_" in place of characters that a
// variable name cannot contain.
func variableName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '_'
	}, name)
}

// lookPath finds an executable as a shell with this environment does; relative paths are
// resolved from dir.
func (e environ) lookPath(name, dir string) (string, bool) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		_, err := os.Stat(name)
		return name, err == nil
	}
	for _, folder := range filepath.SplitList(e["PATH"]) {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		candidate := filepath.Join(folder, name)
		if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return candidate, true
		}
	}
	return "", false
}
