package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// tailLines is how many lines of the installer's output an error repeats.
	tailLines = 12
	// readyFile is in each environment that is complete.
	readyFile = ".flowforge-ready"
)

// States of an environment in a note.
const (
	environmentReady  = "ready"
	environmentFailed = "failed"
)

// environmentNote is in the fields of the log lines about an environment. The page of the node
// reads it there.
type environmentNote struct {
	ID        string   `json:"environment"`
	State     string   `json:"environment_state,omitempty"` // empty: a line of the build
	Python    string   `json:"python,omitempty"`            // version
	Installer string   `json:"installer,omitempty"`         // pip or uv
	Packages  []string `json:"packages,omitempty"`          // installed, as name==version
	BuildMs   int64    `json:"build_ms,omitempty"`
}

// readNote reads a ready file. Earlier versions wrote only the requirements.
func readNote(text []byte, id string) environmentNote {
	note := environmentNote{}
	if json.Unmarshal(text, &note) != nil {
		note = environmentNote{}
	}
	note.ID, note.State = id, environmentReady
	return note
}

// sentence describes a complete environment, after “Using” or a preposition.
func (n environmentNote) sentence() string {
	if n.Installer == "" {
		return "environment " + n.ID + "."
	}
	return fmt.Sprintf("environment %s: Python %s, %s.", n.ID, n.Python, packageCount(len(n.Packages)))
}

func packageCount(packages int) string {
	if packages == 1 {
		return "1 package"
	}
	return fmt.Sprintf("%d packages", packages)
}

// fields adds the note to the fields of a log line, which is a JSON object or empty.
func (n environmentNote) fields(other string) string {
	text, err := json.Marshal(n)
	if err != nil {
		return other
	}
	if other == "" {
		return string(text)
	}
	return strings.TrimSuffix(other, "}") + "," + string(text[1:])
}

// build creates an environment with uv if the machine has it, otherwise with venv and pip.
func (e *environments) build(ctx context.Context, python, dir string, requirements []string, line func(string)) (environmentNote, error) {
	line("Installing requirements into a new environment: " + strings.Join(requirements, ", "))
	begin := time.Now()
	note := environmentNote{Installer: "pip"}
	file := dir + ".txt"
	defer os.Remove(file)
	if err := os.WriteFile(file, []byte(strings.Join(requirements, "\n")+"\n"), 0o600); err != nil {
		return note, err
	}
	// The interpreter finds its environment through the name by which it is called.
	own := filepath.Join(dir, "bin", "python3")
	create := command{python, []string{python, "-m", "venv", dir}}
	install := command{own, []string{
		own, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar", "off", "-r", file,
	}}
	if uv, ok := e.installer.lookPath("uv", "/"); ok {
		note.Installer = "uv"
		create = command{uv, []string{uv, "venv", "--no-config", "--no-progress", "--python", python, dir}}
		install = command{uv, []string{uv, "pip", "install", "--no-config", "--no-progress", "--python", own, "-r", file}}
	}
	env := e.installer
	if note.Installer == "uv" {
		settings, err := e.pipSettings(ctx, python)
		if err != nil {
			return note, err
		}
		env = uvEnvironment(e.installer, settings)
		if settings.has("no-index") { // uv has no variable for it
			install.argv = append(install.argv, "--no-index")
		}
	}
	if err := e.step(ctx, create, env, "create a virtual environment", line); err != nil {
		return note, err
	}
	if err := e.step(ctx, install, env, "install the requirements", line); err != nil {
		note.BuildMs = time.Since(begin).Milliseconds()
		return note, err
	}
	note.BuildMs = time.Since(begin).Milliseconds()
	note.Python = pythonVersion(dir)
	note.Packages = installedPackages(dir)
	return note, nil
}

// pythonVersion reads the version of an environment's interpreter (PEP 405).
func pythonVersion(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "pyvenv.cfg"))
	if err != nil {
		return ""
	}
	for entry := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(entry, "=")
		if name = strings.TrimSpace(name); name == "version" || name == "version_info" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// installedPackages lists the packages of an environment without pip itself.
func installedPackages(dir string) []string {
	folders, _ := filepath.Glob(filepath.Join(dir, "lib", "python3*", "site-packages", "*.dist-info")) // the pattern is well-formed
	var found []string
	for _, folder := range folders {
		name, version, ok := strings.Cut(strings.TrimSuffix(filepath.Base(folder), ".dist-info"), "-")
		if ok && name != "pip" && name != "setuptools" {
			found = append(found, name+"=="+version)
		}
	}
	slices.Sort(found)
	return found
}

// readPipConfig prints the settings of pip as a JSON object. It reads the files and variables that pip
// reads, in the same order (pip documentation, "Configuration"), because Debian's Python has no pip.
const readPipConfig = `
import configparser, json, os, sys
found = {}
user = os.path.expanduser("~")
files = [os.path.join(d, "pip", "pip.conf") for d in reversed(os.environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":")) if d]
files += ["/etc/pip.conf", os.path.join(user, ".pip", "pip.conf")]
files += [os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.join(user, ".config"), "pip", "pip.conf")]
files += [os.path.join(sys.prefix, "pip.conf"), os.environ.get("PIP_CONFIG_FILE") or ""]
if files[-1] == os.devnull:
    files = []
texts = configparser.RawConfigParser()
texts.read(f for f in files if f)
for section in ("global", "install"):
    if texts.has_section(section):
        found.update((name.replace("_", "-"), value) for name, value in texts.items(section))
for name, value in os.environ.items():
    if name.startswith("PIP_") and value:
        found[name[4:].lower().replace("_", "-")] = value
print(json.dumps(found))
`

// pipSettings are the settings of pip by the names of its options.
type pipSettings map[string]string

// has reports whether an option without a value is set, as pip reads it.
func (s pipSettings) has(option string) bool {
	return slices.Contains([]string{"1", "y", "yes", "t", "true", "on"}, strings.ToLower(s[option]))
}

// pipSettings reads the configuration of pip.
func (e *environments) pipSettings(ctx context.Context, python string) (pipSettings, error) {
	var found pipSettings
	var output strings.Builder
	status, err := e.run(ctx, command{python, []string{python, "-c", readPipConfig}}, e.installer, e.dir, func(text string) {
		output.WriteString(text)
	})
	if err != nil {
		return nil, fmt.Errorf("could not read the configuration of pip: %w", err)
	}
	if status.code != 0 || json.Unmarshal([]byte(output.String()), &found) != nil {
		return nil, fmt.Errorf("could not read the configuration of pip: %s", output.String())
	}
	return found, nil
}

// uvEnvironment adds the variables of uv to those of the installer. uv does not read pip's
// configuration, so a machine that is configured for pip passes its package indexes on.
func uvEnvironment(installer environ, found pipSettings) environ {
	env := maps.Clone(installer)
	for name, variable := range map[string]string{
		"index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX", "find-links": "UV_FIND_LINKS",
		"trusted-host": "UV_INSECURE_HOST", "constraint": "UV_CONSTRAINT", "cert": "SSL_CERT_FILE",
	} {
		if value, ok := found[name]; ok && env[variable] == "" {
			separator := " "
			if variable == "UV_FIND_LINKS" {
				separator = ","
			}
			env[variable] = strings.Join(strings.Fields(value), separator)
		}
	}
	return env
}

func (e *environments) step(ctx context.Context, c command, env environ, what string, line func(string)) error {
	var tail []string
	status, err := e.run(ctx, c, env, e.dir, func(text string) {
		line(text)
		if tail = append(tail, text); len(tail) > tailLines {
			tail = tail[1:]
		}
	})
	switch {
	case err != nil:
		return fmt.Errorf("could not %s: %w", what, err)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case status.code != 0:
		return fmt.Errorf("could not %s (exit code %d):\n%s", what, status.code, strings.Join(tail, "\n"))
	}
	return nil
}
