package e2e

import (
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/compute/launcher/kube/kubetest"
	"github.com/flowforge/flowforge/platform/freeport"
)

var updateDocs = flag.Bool("update", false, "rewrite docs/argo.md")

// argoStory is an Argo document that a whole server runs: as local processes, and as pods
// of a real node. $DIR is a folder, $IMAGE an image with Python, $URL a server, $PORT a
// free port, and $TRIES the number of retries where no signal exists for readiness.
type argoStory struct {
	group   string
	feature string
	spec    string
	outputs map[string]any // of the execution
	pods    bool           // it needs pods
	local   bool           // it needs programs that the image of the tests lacks
}

func argoStories() []argoStory {
	return slices.Concat(argoFileStories(), argoKeyStories(), argoBucketStories(), argoOtherBucketStories(), argoWebStories(), argoFetchedStories(), argoDaemonStories(), argoVariableStories(), argoPodStories())
}

func argoFileStories() []argoStory {
	return []argoStory{
		{group: "M2", feature: "artifacts: files between steps, raw text and mode", spec: `
entrypoint: main
templates:
- name: main
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{steps.use.outputs.parameters.all}}"}}]}
  steps:
  - - {name: make, template: make}
  - - {name: use, template: use, arguments: {artifacts: [{name: got, from: "{{steps.make.outputs.artifacts.made}}"}]}}
- name: make
  inputs: {artifacts: [{name: tool, path: $DIR/tool.sh, mode: 0o700, raw: {data: "echo made here > $DIR/made"}}]}
  outputs: {artifacts: [{name: made, path: $DIR/made, archive: {none: {}}}]}
  container: {image: $IMAGE, command: [sh, -c], args: ["test -x $DIR/tool.sh && sh $DIR/tool.sh"]}
- name: use
  inputs: {artifacts: [{name: got, path: $DIR/got}]}
  container: {image: $IMAGE, command: [cat, $DIR/got]}
  outputs: {parameters: [{name: all, valueFrom: {path: $DIR/got}}]}`, outputs: map[string]any{"all": "made here"}},
		{group: "M2", feature: "artifacts and parameters of a task that failed, for the nodes after it", spec: `
entrypoint: main
templates:
- name: main
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{steps.check.status}}: {{steps.read.outputs.result}}, {{steps.keyed.outputs.result}}, {{steps.check.outputs.parameters.sum}}"}}]}
  steps:
  - - {name: check, template: check, continueOn: {failed: true}}
  - - {name: read, template: read, arguments: {artifacts: [{name: report, from: "{{steps.check.outputs.artifacts.report}}"}]}}
    - {name: keyed, template: keyed}
- name: keyed
  inputs: {artifacts: [{name: report, path: $DIR/keyed, s3: {key: reports/check}}]}
  container: {image: $IMAGE, command: [cat, $DIR/keyed]}
- name: check
  outputs: {artifacts: [{name: report, path: $DIR/report, s3: {key: reports/check}, archive: {none: {}}}, {name: never, path: $DIR/never}], parameters: [{name: sum, valueFrom: {path: $DIR/sum}}]}
  container: {image: $IMAGE, command: [sh, -c], args: ["mkdir -p $DIR; echo two of nine failed > $DIR/report; echo 2 of 9 > $DIR/sum; exit 1"]}
- name: read
  inputs: {artifacts: [{name: report, path: $DIR/got}]}
  container: {image: $IMAGE, command: [cat, $DIR/got]}`, outputs: map[string]any{"all": "Failed: two of nine failed, two of nine failed, 2 of 9"}},
		{group: "M2", feature: "artifacts: s3 with only a key names a file of the execution in FlowForge's store", spec: `
entrypoint: main
templates:
- name: main
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{steps.use.outputs.parameters.all}} {{steps.never.status}}"}}]}
  steps:
  - - {name: make, template: make, arguments: {parameters: [{name: who, value: one}]}}
  - - {name: use, template: use, arguments: {parameters: [{name: who, value: one}]}}
    - {name: never, template: use, continueOn: {failed: true, error: true}, arguments: {parameters: [{name: who, value: two}]}}
- name: make
  inputs: {parameters: [{name: who}]}
  outputs: {artifacts: [{name: made, path: $DIR/keyed, s3: {key: "{{workflow.name}}/{{inputs.parameters.who}}.txt"}}]}
  container: {image: $IMAGE, command: [sh, -c], args: ["mkdir -p $DIR; echo by key > $DIR/keyed"]}
- name: use
  inputs: {parameters: [{name: who}], artifacts: [{name: got, path: "$DIR/got-{{inputs.parameters.who}}", s3: {key: "{{workflow.name}}/{{inputs.parameters.who}}.txt"}}]}
  container: {image: $IMAGE, command: [cat, "$DIR/got-{{inputs.parameters.who}}"]}
  outputs: {parameters: [{name: all, valueFrom: {path: "$DIR/got-{{inputs.parameters.who}}"}}]}`, outputs: map[string]any{"all": "by key Error"}},
		{group: "M2", feature: "artifacts: subPath, also within from; recurseMode", spec: `
entrypoint: main
templates:
- name: main
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{steps.one.outputs.result}} {{steps.two.outputs.result}} {{steps.all.outputs.result}} {{steps.none.status}}"}}]}
  steps:
  - - {name: make, template: make}
  - - {name: one, template: show, arguments: {parameters: [{name: to, value: $DIR/one}, {name: part, value: a}], artifacts: [{name: got, from: "{{steps.make.outputs.artifacts.folder}}", subPath: "in/{{steps.make.outputs.result}}.txt"}]}}
    - {name: two, template: show, arguments: {parameters: [{name: to, value: $DIR/two}], artifacts: [{name: got, from: "{{steps.make.outputs.artifacts.folder}}/in/b.txt"}]}}
    - {name: all, template: modes, arguments: {artifacts: [{name: got, from: "{{steps.make.outputs.artifacts.folder}}"}]}}
    - {name: none, template: show, continueOn: {failed: true, error: true}, arguments: {parameters: [{name: to, value: $DIR/none}], artifacts: [{name: got, from: "{{steps.make.outputs.artifacts.folder}}", subPath: ../etc}]}}
- name: make
  outputs: {artifacts: [{name: folder, path: $DIR/folder}]}
  container: {image: $IMAGE, command: [sh, -c], args: ["mkdir -p $DIR/folder/in && echo first > $DIR/folder/in/a.txt && echo second > $DIR/folder/in/b.txt && echo a"]}
- name: show
  inputs: {parameters: [{name: to}], artifacts: [{name: got, path: "{{inputs.parameters.to}}"}]}
  container: {image: $IMAGE, command: [cat, "{{inputs.artifacts.got.path}}"]}
- name: modes
  inputs: {artifacts: [{name: got, path: $DIR/all, mode: 0o600, recurseMode: true}]}
  container: {image: $IMAGE, command: [sh, -c], args: ['for f in $DIR/all/in/*; do stat -L -c %a $f; done | sort -u']}`, outputs: map[string]any{"all": "first second 600 Error"}},
	}
}

// argoFetchedStories are stories that fetch data themselves.
func argoFetchedStories() []argoStory {
	return []argoStory{
		{group: "M2", feature: "artifacts: http with headers", spec: `
entrypoint: main
arguments: {parameters: [{name: who, value: good news}]}
templates:
- name: main
  inputs: {artifacts: [{name: f, path: $DIR/f, http: {url: "$URL/f", headers: [{name: Authorization, value: "Bearer of {{workflow.parameters.who}}"}]}}]}
  container: {image: $IMAGE, command: [cat, $DIR/f]}
  outputs: {parameters: [{name: all, valueFrom: {path: $DIR/f}}]}`, outputs: map[string]any{"all": "for Bearer of good news"}},
		{group: "M4", feature: "http: a request as a template, its response as the result, successCondition", spec: `
entrypoint: main
templates:
- name: main
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{steps.ask.outputs.result}}; {{steps.refused.status}}"}}]}
  steps:
  - - {name: ask, template: ask, arguments: {parameters: [{name: who, value: me}]}}
    - {name: refused, template: refused, continueOn: {failed: true, error: true}}
- name: ask
  inputs: {parameters: [{name: who}]}
  http: {url: "$URL/x", method: POST, body: "from {{inputs.parameters.who}}", headers: [{name: Authorization, value: "{{inputs.parameters.who}}"}], successCondition: response.statusCode == 200}
- name: refused
  http: {url: "$URL/x", successCondition: response.statusCode == 204}`, outputs: map[string]any{"all": "for me from me; Failed"}},
		{group: "M4", feature: "http: successCondition reads the body and the headers of the response", spec: `
entrypoint: main
templates:
- name: main
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{steps.good.status}} {{steps.good.outputs.result}}; {{steps.bad.status}}"}}]}
  steps:
  - - {name: good, template: good}
    - {name: bad, template: bad, continueOn: {failed: true}}
- name: good
  http: {url: "$URL/x", headers: [{name: Authorization, value: me}], successCondition: 'response.statusCode == 200 && response.body contains "for me" && response.headers["Content-Type"][0] startsWith "text/"'}
- name: bad
  http: {url: "$URL/x", headers: [{name: Authorization, value: me}], successCondition: 'response.body contains "for you"'}`, outputs: map[string]any{"all": "Succeeded for me; Failed"}},
		{group: "M2", feature: "artifacts: git with branch, singleBranch, depth, revision and fetch", local: true, spec: `
entrypoint: main
templates:
- name: main
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{steps.branch.outputs.result}} {{steps.tag.outputs.result}} {{steps.fetched.outputs.result}}"}}]}
  steps:
  - - {name: repo, template: repo}
  - - {name: branch, template: branch}
    - {name: tag, template: tag}
    - {name: fetched, template: fetched}
- name: repo
  container:
    image: $IMAGE
    command: [sh, -c]
    args:
    - |
      set -e; cd $DIR; git init -q -b main repo; cd repo; git config user.email a@b.c; git config user.name n
      echo main > text; git add text; git commit -q -m 1; git tag first
      git checkout -q -b side; echo side > text; git commit -q -a -m 2
      git update-ref refs/reviews/7 HEAD; git checkout -q main; echo later > text; git commit -q -a -m 3
- name: branch
  inputs: {artifacts: [{name: code, path: $DIR/branch, git: {repo: "file://$DIR/repo", branch: side, singleBranch: true, depth: 1}}]}
  container: {image: $IMAGE, command: [sh, -c], args: ["cat $DIR/branch/text; git -C $DIR/branch branch -r | grep -c origin/main || true"]}
- name: tag
  inputs: {artifacts: [{name: code, path: $DIR/tag, git: {repo: "file://$DIR/repo", revision: first}}]}
  container: {image: $IMAGE, command: [cat, $DIR/tag/text]}
- name: fetched
  inputs: {artifacts: [{name: code, path: $DIR/fetched, git: {repo: "file://$DIR/repo", fetch: ["refs/reviews/*:refs/remotes/origin/reviews/*"], revision: origin/reviews/7, disableSubmodules: true}}]}
  container: {image: $IMAGE, command: [cat, $DIR/fetched/text]}`, outputs: map[string]any{"all": "side\n0 main side"}},
	}
}

// port returns a free port of this machine.
func port(t *testing.T) string {
	t.Helper()
	_, port, err := net.SplitHostPort(freeport.Address(t))
	require.NoError(t, err)
	return port
}

// runArgo registers and launches a document, and returns its result.
func runArgo(t *testing.T, s *server, number int, story argoStory, replace ...string) executionView {
	t.Helper()
	spec := strings.NewReplacer(replace...).Replace(story.spec)
	name := fmt.Sprintf("argo-story-%d", number)
	document := fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: %s}\nspec:%s", name, strings.ReplaceAll(spec, "\n", "\n  "))
	s.register(t, document)
	e := s.wait(t, s.launch(t, name, nil), ended)
	return e
}

// TestArgoStoriesOnThisMachine: Argo files run as local processes if the installation
// allows it.
func TestArgoStoriesOnThisMachine(t *testing.T) { //nolint:tparallel // sequential, on one server
	t.Parallel()
	s, authority := googleServer(t, "FLOWFORGE_LOCAL_IMAGES=host")
	web := webOf(t, s, authority)
	url := news(t, "127.0.0.1")
	bucket := bucketOf(t, s, map[string]string{"data/one.txt": "first, ", "data/two.txt": "second"})
	container := containerOf(t, s)
	for i, story := range argoStories() {
		if story.pods {
			continue
		}
		t.Run(story.feature, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "argo")
			require.NoError(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			e := runArgo(t, s, i, story, "$DIR", dir, "$IMAGE", "python:3", "$URL", url, "$PORT", port(t), "$TRIES", "20", "$S3", bucket, "$AZURE", container, "$WEB", web)
			require.Equal(t, "SUCCEEDED", e.Status, "%+v", e)
			for name, want := range story.outputs {
				require.Equal(t, want, e.Outputs[name], name)
			}
		})
	}
}

// TestArgoStoriesInPods: the same files, and those that need pods, run in pods of a real
// node.
func TestArgoStoriesInPods(t *testing.T) { //nolint:tparallel // sequential, on one server
	t.Parallel()
	s, c := onCluster(t)
	url := news(t, kubetest.Host)
	namespace := namespaceOf(t, s, c)
	addSettings(t, c, namespace)
	addVolume(t, c)
	for i, story := range argoStories() {
		if story.local {
			continue
		}
		t.Run(story.feature, func(t *testing.T) {
			e := runArgo(t, s, i, story, "$DIR", "/tmp/argo", "$IMAGE", kubetest.TaskImage, "$URL", url, "$PORT", "8000", "$TRIES", "0")
			require.Equal(t, "SUCCEEDED", e.Status, "%+v", e)
			for name, want := range story.outputs {
				require.Equal(t, want, e.Outputs[name], name)
			}
			withoutPods(t, c, e.ID)
			withoutShared(t, c, e.ID)
		})
	}
}

// TestArgoStoriesAreDocumented: docs/argo.md lists the stories.
func TestArgoStoriesAreDocumented(t *testing.T) {
	t.Parallel()
	const file, begin = "../docs/argo.md", "<!-- stories: written by the tests -->\n"
	var b strings.Builder
	b.WriteString("| stage | feature | on this machine | in pods |\n|---|---|---|---|\n")
	mark := map[bool]string{true: "yes"}
	for _, s := range argoStories() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", s.group, s.feature, mark[!s.pods], mark[!s.local])
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(data), begin)
	require.True(t, ok)
	got, after, ok := strings.Cut(rest, "<!-- end -->")
	require.True(t, ok)
	if got == b.String() {
		return
	}
	require.True(t, *updateDocs, "docs/argo.md is not up to date: run go test ./e2e -run Documented -update")
	require.NoError(t, os.WriteFile(file, []byte(before+begin+b.String()+"<!-- end -->"+after), 0o644))
}
