package argo_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/workflow"
)

// workflowOf is a document with a spec.
func workflowOf(spec string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: x}\nspec:" + strings.ReplaceAll(spec, "\n", "\n  ")
}

// TestContainerSet: its containers become members; the main one has what the operator has.
func TestContainerSet(t *testing.T) {
	t.Parallel()
	d, problems := parse(t, workflowOf(`
entrypoint: main
templates:
- name: main
  inputs: {parameters: [{name: p, value: v}]}
  containerSet:
    retryStrategy: {retries: "2", duration: 5s}
    volumeMounts: [{name: w, mountPath: /w}]
    containers:
    - {name: a, image: one, command: [x], args: ["{{inputs.parameters.p}}"], env: [{name: E, value: f}], resources: {limits: {cpu: "1"}}}
    - {name: main, image: two, command: [y], dependencies: [a], workingDir: /w, resources: {requests: {memory: 1Gi}}}
  volumes: [{name: w, emptyDir: {}}]`))
	require.Empty(t, problems)
	op := d.Operators[0]
	require.Equal(t, "two", op.Code.Image)
	require.Equal(t, 1024, op.Resources.MemoryMiB)
	require.Len(t, op.Members, 2)
	require.Equal(t, 2, op.Members[0].Retries)
	require.JSONEq(t, `{"env": [{"name": "E", "value": "f"}], "resources": {"limits": {"cpu": "1"}}, "volumeMounts": [{"name": "w", "mountPath": "/w"}]}`, string(op.Members[0].Pod))
	require.Equal(t, []string{"a"}, op.Members[1].After)
	require.JSONEq(t, `{"volumes": [{"name": "w", "emptyDir": {}}], "volumeMounts": [{"name": "w", "mountPath": "/w"}]}`, string(op.Pod))
}

// TestPodRefusals: what cannot be is named with its place.
func TestPodRefusals(t *testing.T) {
	t.Parallel()
	set := func(text string) string {
		return "\nentrypoint: main\ntemplates:\n- {name: main, containerSet: {containers: [" + text + "]}}"
	}
	for spec, want := range map[string][2]string{
		set(``): {"spec.templates[0].containerSet.containers", "at least one"},
		set(`{name: a, image: i, command: [c], dependencies: [b]}, {name: b, image: i, command: [c], dependencies: [a]}`): {"spec.templates[0].containerSet.containers[0].dependencies[0]", "depend on each other"},
		set(`{name: a, image: i, command: [c], dependencies: [z]}`):                                                       {"spec.templates[0].containerSet.containers[0].dependencies[0]", `no container "z"`},
		set(`{name: task, image: i, command: [c]}`):                                                                       {"spec.templates[0].containerSet.containers[0].name", "are reserved"},
		set(`{name: a, image: i, command: [c]}, {name: a, image: i, command: [c]}`):                                       {"spec.templates[0].containerSet.containers[1].name", "already in use"},
		set(`{name: a}`): {"spec.templates[0].containerSet.containers[0].image", "Set the image"},
		"\nentrypoint: main\ntemplates:\n- {name: main, containerSet: {containers: [{name: a, image: i, command: [c]}]}, outputs: {parameters: [{name: o, valueFrom: {path: /o}}]}}": {"spec.templates[0].containerSet.containers", "called main"},
		"\nentrypoint: main\nartifactGC: {strategy: Later}\ntemplates:\n- {name: main, container: {image: i, command: [c]}, outputs: {artifacts: [{name: o, path: /o}]}}":            {"spec.artifactGC.strategy", "OnWorkflowCompletion"},
		"\nentrypoint: main\ntemplates:\n- {name: main, inputs: {artifacts: [{name: f, path: /f, git: {repo: r, singleBranch: true}}]}, container: {image: i, command: [c]}}":        {"spec.templates[0].inputs.artifacts[0].git.branch", "requires branch"},
		"\nentrypoint: main\ntemplates:\n- {name: main, inputs: {parameters: [{name: p, valueFrom: {configMapKeyRef: {name: m}}}]}, container: {image: i, command: [c]}}":            {"spec.templates[0].inputs.parameters[0].valueFrom.configMapKeyRef.key", "Set the key"},
	} {
		found := refusedFields(t, spec)
		require.Contains(t, found[want[0]], want[1], "%s\n%v", spec, found)
	}
}

// TestPassedOn: pod fields of the workflow reach every pod; when artifacts go reaches them.
func TestPassedOn(t *testing.T) {
	t.Parallel()
	d, problems := parse(t, workflowOf(`
entrypoint: main
hostNetwork: true
dnsPolicy: ClusterFirstWithHostNet
artifactGC: {strategy: OnWorkflowDeletion}
volumeClaimGC: {strategy: OnWorkflowCompletion}
volumeClaimTemplates: [{metadata: {name: w}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
podDisruptionBudget: {minAvailable: 1}
templates:
- name: main
  annotations: {of: template}
  archiveLocation: {archiveLogs: true}
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
  outputs:
    artifacts:
    - {name: a, path: /a, s3: {key: k}, artifactGC: {strategy: OnWorkflowCompletion}}
    - {name: b, path: /b, artifactGC: {strategy: Never}}
    - {name: c, path: /c}
  container: {image: i, command: [c], volumeMounts: [{name: w, mountPath: /w}], resources: {claims: [{name: gpu}]}}`))
	require.Empty(t, problems)
	op := d.Operators[0]
	require.JSONEq(t, `{"hostNetwork": true, "dnsPolicy": "ClusterFirstWithHostNet", "volumeClaimGC": "OnWorkflowCompletion", "podDisruptionBudget": {"minAvailable": 1},
		"volumeClaimTemplates": [{"metadata": {"name": "w"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}],
		"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}], "containerClaims": [{"name": "gpu"}], "volumeMounts": [{"name": "w", "mountPath": "/w"}]}`, string(op.Pod))
	gc := map[string]string{}
	for _, o := range op.Outputs {
		gc[o.Name] = o.GC
	}
	require.Equal(t, map[string]string{"artifacts.a": "completion", "artifacts.b": "never", "artifacts.c": ""}, gc)
	require.Equal(t, "k", op.Outputs[0].Key)
	require.Equal(t, workflow.TypeCommand, op.Type)
}

// TestPodWithoutSettings: clients write null for all that they know of, also for what is newer than
// this server.
func TestPodWithoutSettings(t *testing.T) {
	t.Parallel()
	d, problems := parse(t, `
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: x}
spec:
  entrypoint: main
  templates:
  - name: main
    serviceAccountName: null
    tolerations: null
    volumes: [{name: out, emptyDir: {medium: null}}]
    container:
      image: a
      command: [b]
      args: null
      restartPolicyRules: null
      somethingNew: null
      terminationMessagePolicy: FallbackToLogsOnError
      env: [{name: A, value: "1", valueFrom: null}]
      volumeMounts: [{name: out, mountPath: /mnt/out, bindMountOptions: null}]`)
	require.Empty(t, problems)
	require.JSONEq(t, `{"volumes": [{"name": "out", "emptyDir": {}}], "volumeMounts": [{"name": "out", "mountPath": "/mnt/out"}]}`, string(d.Operators[0].Pod))
	require.Equal(t, map[string]string{"A": "1"}, d.Operators[0].Environment)
}

// TestPodResources: what a pod requests as a whole is what its task requests.
func TestPodResources(t *testing.T) {
	t.Parallel()
	d, problems := parse(t, `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: x}
spec:
  entrypoint: main
  podResources: {requests: {cpu: 500m, memory: 1Gi}}
  templates:
  - {name: main, steps: [[{name: a, template: all}, {name: b, template: own}]]}
  - {name: all, container: {image: i, command: [c], resources: {requests: {cpu: "1"}}}}
  - {name: own, podResources: {limits: {memory: 2Gi}}, container: {image: i, command: [c]}}`)
	require.Empty(t, problems)
	require.Equal(t, workflow.Resources{CPUMillis: 1000, MemoryMiB: 1024}, d.Operators[0].Resources)
	require.Equal(t, workflow.Resources{MemoryMiB: 2048}, d.Operators[1].Resources)
}
