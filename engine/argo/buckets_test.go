package argo_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBucketRefusals: artifacts in buckets that cannot be transferred are refused with advice.
func TestBucketRefusals(t *testing.T) {
	t.Parallel()
	const keys = "accessKeySecret: {name: s, key: a}, secretKeySecret: {name: s, key: b}"
	for artifact, want := range map[string][2]string{
		"outputs: {artifacts: [{name: f, path: /f, s3: {key: k, bucket: b}}]}":                                                                              {"outputs.artifacts[0]", "does not upload to public buckets"},
		"outputs: {artifacts: [{name: f, path: /f, s3: {key: k/, bucket: b, " + keys + "}}]}":                                                               {"outputs.artifacts[0]", "Set the key of one object"},
		"outputs: {artifacts: [{name: f, path: /f, s3: {key: k, endpoint: e, " + keys + "}}]}":                                                              {"outputs.artifacts[0].s3.bucket", "Set the bucket"},
		"outputs: {artifacts: [{name: f, path: /f, archive: {none: {}, zip: {}}, s3: {key: k, bucket: b, " + keys + "}}]}":                                  {"outputs.artifacts[0].archive", "Set one of"},
		"outputs: {artifacts: [{name: f, path: /f, archive: {tar: {compressionLevel: 11}}, s3: {key: k, bucket: b, " + keys + "}}]}":                        {"outputs.artifacts[0].archive.tar.compressionLevel", "-1 to 9"},
		"outputs: {artifacts: [{name: f, path: /f, oss: {key: k, bucket: b, " + keys + "}}]}":                                                               {"outputs.artifacts[0].oss.endpoint", "Set the endpoint"},
		"inputs: {artifacts: [{name: f, path: /f, oss: {endpoint: e, bucket: b, " + keys + "}}]}":                                                           {"inputs.artifacts[0].oss.key", "Set the object"},
		"inputs: {artifacts: [{name: f, path: /f, s3: {key: k, bucket: b, accessKeySecret: {name: s, key: a}}}]}":                                           {"inputs.artifacts[0].s3", "Set both"},
		"inputs: {artifacts: [{name: f, path: /f, s3: {key: k, bucket: b, accessKeySecret: {name: '{{x}}', key: a}, secretKeySecret: {name: s, key: a}}}]}": {"inputs.artifacts[0].s3.accessKeySecret", "cannot contain tags"},
		"outputs: {artifacts: [{name: f, path: /f, gcs: {key: k, bucket: b}}]}":                                                                             {"outputs.artifacts[0]", "does not upload to public buckets"},
		"inputs: {artifacts: [{name: f, path: /f, gcs: {key: k, serviceAccountKeySecret: {name: s, key: a}}}]}":                                             {"inputs.artifacts[0].gcs.bucket", "Set the bucket"},
		"inputs: {artifacts: [{name: f, path: /f, gcs: {bucket: b, serviceAccountKeySecret: {name: s, key: a}}}]}":                                          {"inputs.artifacts[0].gcs.key", "Set the object"},
		"inputs: {artifacts: [{name: f, path: /f, gcs: {key: k, bucket: b, serviceAccountKeySecret: {name: s}}}]}":                                          {"inputs.artifacts[0].gcs.serviceAccountKeySecret", "Set the name and the key"},
	} {
		found := refusedFields(t, "\nentrypoint: main\ntemplates:\n- {name: main, "+artifact+", container: {image: a, command: [b]}}")
		require.Contains(t, found["spec.templates[0]."+want[0]], want[1], "%s\n%v", artifact, found)
	}
}
