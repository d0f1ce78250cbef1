package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/artifact/s3test"
)

// argoKeyStories are about keys and buckets of s3.
func argoKeyStories() []argoStory {
	return []argoStory{
		{group: "M2", feature: "artifacts: a key of s3 inside of a folder, and a key that is the folder of several files", spec: `
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
		{group: "M2", feature: "artifacts: an object of a bucket of s3, with credentials from secrets", local: true, spec: `
entrypoint: main
arguments: {artifacts: [{name: whole, s3: {endpoint: $S3, insecure: true, bucket: others, key: data/one.txt, accessKeySecret: {name: bucket, key: access}, secretKeySecret: {name: bucket, key: secret}}}]}
templates:
- name: main
  inputs:
    parameters: [{name: key, value: two}]
    artifacts:
    - {name: whole, path: $DIR/whole}
    - {name: got, path: $DIR/got, s3: {endpoint: "http://$S3", bucket: others, key: "data/{{inputs.parameters.key}}.txt", accessKeySecret: {name: bucket, key: access}, secretKeySecret: {name: bucket, key: secret}}}
  outputs: {parameters: [{name: all, valueFrom: {path: $DIR/all}}]}
  container: {image: $IMAGE, command: [sh, -c], args: ["cat $DIR/whole $DIR/got > $DIR/all"]}`, outputs: map[string]any{"all": "first, second"}},
	}
}

// bucketOf starts an S3 server whose bucket "others" has the objects, gives s the secrets to
// read them, and returns its address.
func bucketOf(t *testing.T, s *server, objects map[string]string) string {
	t.Helper()
	store := s3test.Start(t, "others")
	for key, text := range objects {
		file := filepath.Join(store.Dir, "others", key)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	s.api(t, http.MethodPut, "/secrets/bucket.access", map[string]any{"value": s3test.AccessKey}, nil)
	s.api(t, http.MethodPut, "/secrets/bucket.secret", map[string]any{"value": s3test.SecretKey}, nil)
	return strings.TrimPrefix(store.Endpoint, "http://")
}
