package e2e

import (
	"archive/tar"
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/compute/launcher/kube/kubetest"
)

// printingProgram is the only program in the image of the story.
const printingProgram = `package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	folder, _ := os.Getwd()
	fmt.Print(os.Getenv("GREETING"), " from ", folder, ": ", strings.Join(os.Args[1:], " "))
}
`

// printingImage returns an image of one program, which prints its working directory and
// arguments.
func printingImage(t *testing.T) v1.Image {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(printingProgram), 0o600))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", "say", "main.go")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	program, err := os.ReadFile(filepath.Join(dir, "say"))
	require.NoError(t, err)
	var files bytes.Buffer
	archive := tar.NewWriter(&files)
	require.NoError(t, archive.WriteHeader(&tar.Header{Name: "app/say", Mode: 0o755, Size: int64(len(program))}))
	_, err = archive.Write(program)
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil })
	require.NoError(t, err)
	image, err := mutate.AppendLayers(empty.Image, layer)
	require.NoError(t, err)
	file, err := image.ConfigFile()
	require.NoError(t, err)
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", runtime.GOARCH
	file.Config = v1.Config{Entrypoint: []string{"./say"}, Cmd: []string{"by", "itself"}, WorkingDir: "/app", Env: []string{"GREETING=hello"}}
	image, err = mutate.ConfigFile(image, file)
	require.NoError(t, err)
	return image
}

const imageStory = `apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: images}
spec:
  entrypoint: main
  templates:
  - name: main
    outputs:
      parameters:
      - {name: itself, valueFrom: {parameter: "{{tasks.itself.outputs.result}}"}}
      - {name: given, valueFrom: {parameter: "{{tasks.given.outputs.result}}"}}
      - {name: named, valueFrom: {parameter: "{{tasks.named.outputs.result}}"}}
      - {name: set, valueFrom: {parameter: "{{tasks.set.outputs.result}}"}}
      - {name: known, valueFrom: {parameter: "{{tasks.known.outputs.result}}"}}
      - {name: missing, valueFrom: {parameter: "{{tasks.missing.status}}"}}
    dag:
      tasks:
      - {name: itself, template: itself}
      - {name: given, template: given}
      - {name: named, template: named}
      - {name: set, template: set}
      - {name: known, template: known}
      - {name: missing, template: missing, continueOn: {failed: true, error: true}}
  - {name: itself, container: {image: $SAYING}}
  - {name: given, container: {image: $SAYING, args: [with, $(NONE)]}}
  - {name: named, container: {image: $SAYING, command: [./say, named]}}
  - {name: known, container: {image: $TASK, args: ["print('from the table')"]}}
  - {name: missing, container: {image: $MISSING}}
  - name: set
    containerSet:
      containers:
      - {name: first, image: $SAYING, args: [first]}
      - {name: main, image: $SAYING, dependencies: [first]}
`

// TestCommandsOfImagesInPods: containers without a command run the default command of
// their image, with its working directory and environment. The server and the pods'
// machine use the same registry. An image that the registry does not have fails with a
// message.
func TestCommandsOfImagesInPods(t *testing.T) {
	t.Parallel()
	kubetest.WithNode(t)
	store := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(store.Close)
	host := strings.TrimPrefix(store.URL, "http://")
	image, err := name.ParseReference(host + "/tools/saying:1")
	require.NoError(t, err)
	require.NoError(t, remote.Write(image, printingImage(t)))
	table := filepath.Join(t.TempDir(), "commands.yaml")
	require.NoError(t, os.WriteFile(table, []byte(kubetest.TaskImage+": {entrypoint: [python3, -c], cmd: [pass]}\n"), 0o600))

	s, c := onCluster(t, "FLOWFORGE_KUBE_INSECURE_REGISTRIES="+host, "FLOWFORGE_KUBE_IMAGE_COMMANDS="+table)
	s.register(t, strings.NewReplacer("$SAYING", image.String(), "$TASK", kubetest.TaskImage, "$MISSING", host+"/tools/missing:1").Replace(imageStory))
	e := s.wait(t, s.launch(t, "images", nil), ended)
	require.Equal(t, "SUCCEEDED", e.Status, "%+v", e)
	for output, want := range map[string]string{
		"itself": "hello from /app: by itself", "given": "hello from /app: with $(NONE)", "named": "hello from /app: named",
		"set": "hello from /app: by itself", "known": "from the table", "missing": "Error",
	} {
		require.Equal(t, want, e.Outputs[output], output)
	}
	page := openOn(t, s, options{})
	visit(t, page, "/executions/"+e.ID+"?node=missing")
	holds(t, page.Locator("#node"), "The container has no command, and the default command of its image "+host+"/tools/missing:1 cannot be looked up: its registry "+host+" does not have it. Set command in the container.")
	withoutPods(t, c, e.ID)
}
