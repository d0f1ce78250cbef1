package execution_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

const argoImages = `
  entrypoint: main
  templates:
  - name: main
    dag:
      tasks:
      - {name: plain, template: plain}
      - {name: given, template: given}
      - {name: set, template: set}
      - {name: named, template: named}
  - {name: plain, container: {image: hello-world}}
  - {name: given, container: {image: whalesay, args: [hi], workingDir: /w}}
  - {name: named, container: {image: busybox, command: [ls]}}
  - name: set
    containerSet:
      containers:
      - {name: a, image: one, args: [x]}
      - {name: b, image: one, command: [y]}
      - {name: main, image: two, dependencies: [a]}
`

// TestCommandsOfImagesInACluster: the launcher receives which containers have no command,
// and the runner which processes.
func TestCommandsOfImagesInACluster(t *testing.T) {
	t.Parallel()
	b := setupPods(t)
	b.workflows.ReadWith(argo.Format{})
	id := b.launch(fmt.Sprintf(argoHead, "images")+"spec:"+argoImages, nil)
	silent := func(node int) map[string]bool {
		var fields struct {
			ImageCommands map[string]bool `json:"imageCommands"`
		}
		if text := b.cluster.pod(t, query.TaskID(id, node, 1)).GetPodJson(); text != "" {
			require.NoError(t, json.Unmarshal([]byte(text), &fields))
		}
		return fields.ImageCommands
	}
	plain := b.cluster.pod(t, query.TaskID(id, 0, 1)).GetProcess()
	require.Empty(t, plain.GetCommand())
	require.True(t, plain.GetImageCommand() && plain.GetImageFolder())
	require.Equal(t, map[string]bool{"task": false}, silent(0))

	given := b.cluster.pod(t, query.TaskID(id, 1, 1)).GetProcess()
	require.Equal(t, []string{"hi"}, given.GetCommand())
	require.Equal(t, "/w", given.GetFolder())
	require.True(t, given.GetImageCommand())
	require.Equal(t, map[string]bool{"task": true}, silent(1))

	set := b.cluster.pod(t, query.TaskID(id, 2, 1))
	require.False(t, set.GetProcess().GetImageCommand(), "its own command runs the members")
	require.True(t, set.GetProcess().GetImageFolder())
	require.Equal(t, map[string]bool{"task": false, "a": true}, silent(2))
	require.Contains(t, set.GetProcess().GetCommand()[2], `"name":"main","after":["a"],"command":null,"image":true`)
	require.Contains(t, set.GetPodJson(), `\"name\":\"a\",\"command\":[\"x\"],\"image\":true`)

	named := b.cluster.pod(t, query.TaskID(id, 3, 1)).GetProcess()
	require.False(t, named.GetImageCommand())
	require.True(t, named.GetImageFolder(), "like in Argo, it runs in the folder of the image")
	require.Empty(t, silent(3))
}

// TestCommandsOfImagesOnThisMachine: images are not inspected there; the launch reports
// which templates need a command.
func TestCommandsOfImagesOnThisMachine(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	version := b.register(fmt.Sprintf(argoHead, "images") + "spec:" + argoImages)
	_, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: version.Name, Priority: query.Normal})
	var failed *apperr.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, []apperr.Field{
		{Path: "spec.templates[1].container.command", Message: "Operator plain has no command. The default command of an image is only known in a cluster. Add command to the template plain."},
		{Path: "spec.templates[2].container.command", Message: "Operator given has no command. The default command of an image is only known in a cluster. Add command to the template given."},
		{Path: "spec.templates[4].containerSet.containers", Message: "Operator set has no command in the container a, main. The default command of an image is only known in a cluster. Add command to the template set."},
	}, failed.Fields)

	b = argoSetup(t, func(c *execution.Config) { c.HostImages = false })
	version = b.register(fmt.Sprintf(argoHead, "images") + "spec:" + argoImages)
	_, _, err = b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: version.Name, Priority: query.Normal})
	require.ErrorAs(t, err, &failed)
	require.Len(t, failed.Fields, 4, "each operator is reported once, for its image")
	for _, f := range failed.Fields {
		require.Contains(t, f.Message, "FLOWFORGE_LOCAL_IMAGES=host")
	}
}

// TestVariablesOfContainers: the runner expands $(NAME) with the variables in their order. The
// cluster must not: it would do so within the JSON of the containers of a set.
func TestVariablesOfContainers(t *testing.T) {
	t.Parallel()
	b := setupPods(t)
	b.workflows.ReadWith(argo.Format{})
	id := b.launch(fmt.Sprintf(argoHead, "variables")+`spec:
  entrypoint: main
  templates:
  - name: main
    steps: [[{name: one, template: one}, {name: set, template: set}]]
  - {name: one, container: {image: busybox, command: [echo, $(B)], env: [{name: B, value: x}, {name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}}
  - name: set
    containerSet: {containers: [{name: a, image: one, command: [echo, $(WORD)], env: [{name: WORD, value: 'say "no"'}]}, {name: main, image: two, command: [ls]}]}
`, nil)
	one := b.cluster.pod(t, query.TaskID(id, 0, 1)).GetProcess()
	require.True(t, one.GetExpand())
	require.Equal(t, []string{"B", "A"}, one.GetVariables())
	set := b.cluster.pod(t, query.TaskID(id, 1, 1))
	require.False(t, set.GetProcess().GetExpand(), "each container expands its own command")
	require.Contains(t, set.GetPodJson(), `\"command\":[\"echo\",\"$$(WORD)\"]`)
	require.Contains(t, set.GetPodJson(), `\"order\":[\"WORD\"]`)
}

// TestNativeCommandOfTheImage: a native definition behaves the same.
func TestNativeCommandOfTheImage(t *testing.T) {
	t.Parallel()
	b := setupPods(t)
	id := b.launch("name: native\nversion: 1.0.0\noperators: [{name: serve, type: command, code: {image: nginx, args: [-v]}}, {name: named, type: command, code: {image: nginx, command: [ls]}}]", nil)
	serve := b.cluster.pod(t, query.TaskID(id, 0, 1))
	require.Equal(t, []string{"-v"}, serve.GetProcess().GetCommand())
	require.True(t, serve.GetProcess().GetImageCommand() && serve.GetProcess().GetImageFolder())
	require.False(t, serve.GetProcess().GetExpand())
	require.JSONEq(t, `{"imageCommands": {"task": true}}`, serve.GetPodJson())
	named := b.cluster.pod(t, query.TaskID(id, 1, 1))
	require.False(t, named.GetProcess().GetImageFolder(), "its own folder, with its package")
	require.Empty(t, named.GetPodJson())
}
