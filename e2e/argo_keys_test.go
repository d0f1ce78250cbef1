package e2e

// argoKeyStories are about keys of s3.
func argoKeyStories() []argoStory {
	return []argoStory{
		{group: "M2", feature: "artifacts: an s3 key inside a folder, and a key that is the folder of several files", spec: `
entrypoint: main
templates:
- name: main
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{tasks.reduce.outputs.parameters.all}}"}}]}
  dag:
    tasks:
    - {name: split, template: split}
    - name: map
      template: map
      depends: split
      withParam: "{{tasks.split.outputs.result}}"
      arguments: {parameters: [{name: id, value: "{{item}}"}], artifacts: [{name: part, s3: {key: "{{workflow.name}}/parts/{{item}}.txt"}}]}
    - {name: reduce, template: reduce, depends: map}
- name: split
  outputs: {artifacts: [{name: parts, path: $DIR/out, archive: {none: {}}, s3: {key: "{{workflow.name}}/parts/"}}]}
  container: {image: $IMAGE, command: [sh, -c], args: ["mkdir -p $DIR/out; echo one > $DIR/out/a.txt; echo two > $DIR/out/b.txt; echo '[\"a\", \"b\"]'"]}
- name: map
  inputs: {parameters: [{name: id}], artifacts: [{name: part, path: "$DIR/part-{{inputs.parameters.id}}"}]}
  outputs: {artifacts: [{name: part, path: "$DIR/mapped-{{inputs.parameters.id}}", s3: {key: "{{workflow.name}}/results/{{inputs.parameters.id}}.txt"}}]}
  container: {image: $IMAGE, command: [sh, -c], args: ["sed s/$/{{inputs.parameters.id}}/ $DIR/part-{{inputs.parameters.id}} > $DIR/mapped-{{inputs.parameters.id}}"]}
- name: reduce
  inputs: {artifacts: [{name: results, path: $DIR/results, s3: {key: "{{workflow.name}}/results"}}]}
  outputs: {parameters: [{name: all, valueFrom: {path: $DIR/all}}]}
  container: {image: $IMAGE, command: [sh, -c], args: ["cd $DIR/results && ls | tr '\\n' ' ' > $DIR/all && cat a.txt b.txt | tr '\\n' ' ' >> $DIR/all"]}`, outputs: map[string]any{"all": "a.txt b.txt onea twob "}},
	}
}
