package argo_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/workflow"
)

// TestWhatThisMachineDoes: without a cluster secrets become variables and an emptyDir a folder;
// everything else that only a pod does is named with its path.
func TestWhatThisMachineDoes(t *testing.T) {
	t.Parallel()
	d, problems := parse(t, `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: x}
spec:
  entrypoint: main
  volumes: [{name: work, emptyDir: {}}, {name: claim, persistentVolumeClaim: {claimName: c}}]
  templates:
  - name: main
    nodeSelector: {disk: ssd}
    initContainers: [{name: before, image: a, command: [b]}]
    sidecars: [{name: beside, image: a, command: [b]}]
    container:
      image: a
      command: [b]
      env:
      - {name: PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}
      - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
      envFrom: [{configMapRef: {name: all}}]
      volumeMounts: [{name: work, mountPath: /work}, {name: claim, mountPath: /data}, {name: work, mountPath: /part, subPath: p}]`)
	require.Empty(t, problems)
	host := d.Operators[0].Host
	require.Equal(t, []workflow.SecretVariable{{Name: "PASSWORD", Secret: "db.password", At: "spec.templates[0].container.env[0].valueFrom.secretKeyRef"}}, host.Secrets)
	require.Equal(t, []workflow.Scratch{{Name: "work", Path: "/work"}}, host.Scratch)
	var paths []string
	for _, f := range host.Refused {
		require.Contains(t, f.Message, "runs tasks as local processes")
		paths = append(paths, f.Path)
	}
	require.ElementsMatch(t, []string{
		"spec.templates[0].container.env[1].valueFrom", "spec.volumes[1]", "spec.templates[0].container.volumeMounts[2]", "spec.templates[0].container.envFrom",
		"spec.templates[0].initContainers", "spec.templates[0].sidecars",
	}, paths)

	d, problems = parse(t, `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: x}
spec:
  entrypoint: main
  podSpecPatch: "{}"
  templates:
  - name: main
    containerSet: {containers: [{name: main, image: a, command: [b]}, {name: other, image: a, command: [b], volumeMounts: [{name: none, mountPath: /none}]}]}`)
	require.Empty(t, problems)
	paths = nil
	for _, f := range d.Operators[0].Host.Refused {
		paths = append(paths, f.Path)
	}
	require.Subset(t, paths, []string{"spec.podSpecPatch", "spec.templates[0].containerSet.containers[1].volumeMounts[0]"})
}
