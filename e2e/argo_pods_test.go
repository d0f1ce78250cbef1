package e2e

// Stories about containers and pods.

func argoDaemonStories() []argoStory {
	return []argoStory{
		{group: "M5", feature: "daemon: a web server that later steps call by its ip, once its readinessProbe succeeds", spec: `
entrypoint: main
templates:
- name: main
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{steps.ask.outputs.result}}"}}]}
  steps:
  - - {name: web, template: web}
  - - {name: ask, template: ask, arguments: {parameters: [{name: address, value: "{{steps.web.ip}}:$PORT"}]}}
- name: web
  daemon: true
  container:
    image: $IMAGE
    command: [sh, -c]
    args: ["sleep 1; mkdir -p $DIR/www && cd $DIR/www && echo served > page && exec python3 -m http.server $PORT"]
    readinessProbe: {httpGet: {path: /page, port: $PORT}, periodSeconds: 1}
- name: ask
  inputs: {parameters: [{name: address}]}
  retryStrategy: {limit: $TRIES, backoff: {duration: "1"}}
  container:
    image: $IMAGE
    command: [python3, -c]
    args: ["import urllib.request; print(urllib.request.urlopen('http://{{inputs.parameters.address}}/page', timeout=10).read().decode().strip())"]`, outputs: map[string]any{"all": "served"}},
	}
}

func argoVariableStories() []argoStory {
	return []argoStory{
		{group: "M5", feature: "env: $(NAME) in commands, arguments and later variables, as Kubernetes replaces it", spec: `
entrypoint: main
templates:
- name: main
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{steps.one.outputs.result}}; {{steps.set.outputs.result}}"}}]}
  steps: [[{name: one, template: one}, {name: set, template: set}]]
- name: one
  container:
    image: $IMAGE
    command: [echo]
    args: ["$(ADDRESS) $$(HOST) $(NONE)"]
    env: [{name: EARLY, value: $(HOST)}, {name: HOST, value: db}, {name: ADDRESS, value: "//$(HOST)/$(EARLY)"}]
- name: set
  containerSet:
    containers:
    - name: a
      image: $IMAGE
      command: [sh, -c]
      args: ['test "$0" = "say \"no\"" && test $$$$ -gt 0 && test -z "$OTHER"', $(WORD)]
      env: [{name: WORD, value: 'say "no"'}]
    - name: main
      dependencies: [a]
      image: $IMAGE
      command: [echo, $(WORD)]
      env: [{name: OTHER, value: more}, {name: WORD, value: 'say "$(OTHER)"'}]`, outputs: map[string]any{"all": `//db/$(HOST) $(HOST) $(NONE); say "more"`}},
	}
}

func argoPodStories() []argoStory {
	return []argoStory{
		{group: "M5", feature: "containerSet: dependencies between containers, the result of main, retries, and containers skipped after a failure", spec: `
entrypoint: main
templates:
- name: main
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{steps.good.outputs.result}}, {{steps.bad.status}} {{steps.bad.exitCode}}, {{steps.plain.status}}"}}]}
  steps:
  - - {name: good, template: good, arguments: {parameters: [{name: who, value: everybody}]}}
    - {name: bad, template: bad, continueOn: {failed: true}}
    - {name: plain, template: plain}
- name: good
  inputs: {parameters: [{name: who}]}
  containerSet:
    containers:
    - {name: a, image: $IMAGE, command: [sh, -c], args: ["echo of a for {{inputs.parameters.who}}"]}
    - {name: b, image: $IMAGE, command: [sh, -c, "echo of b"], dependencies: [a]}
    - {name: main, image: $IMAGE, command: [python3, -c, "import os; print('hello', os.environ['WHO'])"], env: [{name: WHO, value: "{{inputs.parameters.who}}"}], dependencies: [a, b]}
- name: bad
  containerSet:
    containers:
    - {name: first, image: $IMAGE, command: [sh, -c, "echo no good; exit 3"]}
    - {name: main, image: $IMAGE, command: [sh, -c, "exit 9"], dependencies: [first]}
- name: plain
  containerSet:
    retryStrategy: {retries: 2, duration: "1"}
    containers:
    - {name: x, image: $IMAGE, command: [sh, -c, "test -e $DIR-x && exit 0; touch $DIR-x; exit 1"]}
    - {name: "y", image: $IMAGE, command: ["true"], dependencies: [x]}`, outputs: map[string]any{"all": "hello everybody, Failed 3, Succeeded"}},
		{group: "M5", feature: "containerSet with a workspace that its containers share, outputs of main", pods: true, spec: `
entrypoint: main
templates:
- name: main
  volumes: [{name: workspace, emptyDir: {}}]
  containerSet:
    volumeMounts: [{name: workspace, mountPath: /workspace}]
    containers:
    - {name: a, image: $IMAGE, command: [sh, -c, "echo made by a > /workspace/out"]}
    - {name: main, image: $IMAGE, command: ["true"], dependencies: [a]}
  outputs: {parameters: [{name: all, valueFrom: {path: /workspace/out}}], artifacts: [{name: out, path: /workspace/out}]}`, outputs: map[string]any{"all": "made by a"}},
		{group: "M5", feature: "volumeClaimTemplates: claims are created for an execution and removed at its end; podDisruptionBudget", pods: true, spec: `
entrypoint: main
podDisruptionBudget: {minAvailable: 9999}
volumeClaimGC: {strategy: OnWorkflowCompletion}
volumeClaimTemplates:
- metadata: {name: work}
  spec: {accessModes: [ReadWriteOnce], storageClassName: argo-stories, resources: {requests: {storage: 10Mi}}}
templates:
- name: main
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{steps.read.outputs.result}}"}}]}
  steps:
  - - {name: write, template: write}
  - - {name: read, template: read}
- name: write
  container: {image: $IMAGE, command: [sh, -c, "echo kept > /work/file"], volumeMounts: [{name: work, mountPath: /work}]}
- name: read
  container: {image: $IMAGE, command: [cat, /work/file], volumeMounts: [{name: work, mountPath: /work}]}`, outputs: map[string]any{"all": "kept"}},
		{group: "M5", feature: "volumes, sidecars, initContainers, podSpecPatch, metadata of pods, environment from secrets and fields", pods: true, spec: `
entrypoint: main
volumes: [{name: shared, emptyDir: {}}]
podMetadata: {labels: {story: pods}}
templates:
- name: main
  metadata: {annotations: {told: "{{workflow.name}}"}}
  initContainers: [{name: first, image: $IMAGE, command: [sh, -c, "echo from init > /shared/init"], mirrorVolumeMounts: true}]
  sidecars: [{name: beside, image: $IMAGE, command: [sh, -c, "trap exit TERM; while :; do echo beside > /shared/side; sleep 0.2; done"], mirrorVolumeMounts: true}]
  podSpecPatch: '{"hostname": "patched"}'
  container:
    image: $IMAGE
    command: [sh, -c]
    args: ["until test -s /shared/side; do sleep 0.1; done; echo $(cat /shared/init) $(cat /shared/side) $(hostname) > /shared/out"]
    volumeMounts: [{name: shared, mountPath: /shared}]
  outputs: {parameters: [{name: all, valueFrom: {path: /shared/out}}]}`, outputs: map[string]any{"all": "from init beside patched"}},
		{group: "M2", feature: "configMapKeyRef in a cluster: arguments, inputs, and the permits of a semaphore", pods: true, spec: `
entrypoint: main
arguments: {parameters: [{name: hello, valueFrom: {configMapKeyRef: {name: settings, key: greeting}}}]}
templates:
- name: main
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{workflow.parameters.hello}}, {{steps.own.outputs.result}}"}}]}
  steps: [[{name: own, template: own}]]
- name: own
  inputs: {parameters: [{name: who, valueFrom: {configMapKeyRef: {name: settings, key: who}}}]}
  synchronization: {semaphores: [{configMapKeyRef: {name: settings, key: permits}}]}
  container: {image: $IMAGE, command: [echo, "{{inputs.parameters.who}}"]}`, outputs: map[string]any{"all": "good morning, cluster"}},
	}
}
