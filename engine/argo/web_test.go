package argo_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWebRefusals: files at addresses whose credentials are not complete are refused with advice.
func TestWebRefusals(t *testing.T) {
	t.Parallel()
	const key = "{name: s, key: a}"
	for artifact, want := range map[string][2]string{
		"outputs: {artifacts: [{name: f, path: /f, artifactory: {url: 'http://a/f'}}]}":                                                                    {"outputs.artifacts[0]", "does not upload to public buckets"},
		"inputs: {artifacts: [{name: f, path: /f, artifactory: {url: ''}}]}":                                                                               {"inputs.artifacts[0].artifactory.url", "Set the address"},
		"inputs: {artifacts: [{name: f, path: /f, artifactory: {url: 'http://a/f', usernameSecret: " + key + "}}]}":                                        {"inputs.artifacts[0].artifactory.passwordSecret", "Set the name and the key"},
		"inputs: {artifacts: [{name: f, path: /f, http: {url: 'http://a/f', auth: {}}}]}":                                                                  {"inputs.artifacts[0].http.auth", "Set one of basicAuth, oauth2 and clientCert"},
		"inputs: {artifacts: [{name: f, path: /f, http: {url: 'http://a/f', auth: {basicAuth: {usernameSecret: " + key + "}}}}]}":                          {"inputs.artifacts[0].http.auth.basicAuth.passwordSecret", "Set the name and the key"},
		"outputs: {artifacts: [{name: f, path: /f, http: {url: 'http://a/f', auth: {clientCert: {clientCertSecret: " + key + "}}}}]}":                      {"outputs.artifacts[0].http.auth.clientCert.clientKeySecret", "Set the name and the key"},
		"inputs: {artifacts: [{name: f, path: /f, http: {url: 'http://a/f', auth: {oauth2: {clientIDSecret: " + key + "}}}}]}":                             {"inputs.artifacts[0].http.auth.oauth2.tokenURLSecret", "Set the name and the key"},
		"outputs: {artifacts: [{name: f, path: /f, http: {url: ''}}]}":                                                                                     {"outputs.artifacts[0].http.url", "Set the address"},
		"inputs: {artifacts: [{name: f, path: /f, http: {url: 'http://{{inputs.parameters.none}}/f', auth: {basicAuth: {usernameSecret: " + key + "}}}}]}": {"inputs.artifacts[0].http.url", "has no input parameters.none"},
		"inputs: {artifacts: [{name: f, path: /f, http: {url: 'http://a/f', headers: [{name: authorization, value: x}], auth: {basicAuth: {usernameSecret: " + key + ", passwordSecret: " + key + "}}}}]}": {
			"inputs.artifacts[0].http.headers[0]", "auth sets it",
		},
	} {
		found := refusedFields(t, "\nentrypoint: main\ntemplates:\n- {name: main, "+artifact+", container: {image: a, command: [b]}}")
		require.Contains(t, found["spec.templates[0]."+want[0]], want[1], "%s\n%v", artifact, found)
	}
}
