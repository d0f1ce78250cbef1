package workflow

import (
	"encoding/base64"
	"strings"
	"testing"

	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/flowforge/flowforge/typeregistry"
)

const grpcDefinition = `
name: calls
version: 1.0.0
inputs: [{name: api, type: Connection<grpc>}, {name: db, type: Connection<postgres>}, {name: name, type: String}]
operators:
- name: call
  type: grpc
  inputs: [{name: name, from: inputs.name}]
  outputs: [{name: body, type: JSON}]
`

func TestGRPC(t *testing.T) {
	t.Parallel()
	set, _ := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(grpc_health_v1.File_grpc_health_v1_health_proto)}})
	descriptors := base64.StdEncoding.EncodeToString(set)
	d := mustParse(t, grpcDefinition+`
  grpc: {address: "api.example.com:443", method: /grpc.health.v1.Health/Check, message: {service: "{{name}}"}, metadata: {x-key: "{{name}}"}, deadline: 5s, retry: {status: [UNAVAILABLE], limit: 2}, condition: body.status == "SERVING", descriptors: "`+descriptors+`"}
`)
	canonical, _, err := d.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	again, _, _ := mustParse(t, string(canonical)).Canonical()
	if string(canonical) != string(again) {
		t.Errorf("%s\n%s", canonical, again)
	}
	const base = `address: "a:1", method: a.B/C`
	for section, want := range map[string]string{
		`{method: a.B/C}`:                                                                           "operators[0].grpc.address: Set the address",
		`{address: "https://a:1", method: a.B/C}`:                                                   "operators[0].grpc.address: Write the address as host:port",
		`{address: "{{name}}:1", method: a.B/C}`:                                                    "operators[0].grpc.address: Write the address as host:port",
		`{address: "a:1", method: B.C}`:                                                             "operators[0].grpc.method: Write the method as package.Service/Method.",
		`{` + base + `, message: [1]}`:                                                              "operators[0].grpc.message: Write the message as a mapping",
		`{` + base + `, message: {x: "{{nothing}}"}}`:                                               `operators[0].grpc.message: "nothing" is not an input`,
		`{` + base + `, metadata: {grpc-timeout: "1"}}`:                                             "operators[0].grpc.metadata.grpc-timeout: Use lower-case letters",
		`{` + base + `, retry: {status: [UNAVALABLE]}}`:                                             `operators[0].grpc.retry.status[0]: This is not a gRPC status code. Did you mean "UNAVAILABLE"?`,
		`{` + base + `, retry: {limit: 2}}`:                                                         "operators[0].grpc.retry.status: List the status codes",
		`{` + base + `, descriptors: "?"}`:                                                          "operators[0].grpc.descriptors: This must be a FileDescriptorSet in base64",
		`{` + base + `, plaintext: true, ca: x}`:                                                    "operators[0].grpc.plaintext: Without TLS",
		`{` + base + `, condition: reply.ok}`:                                                       `operators[0].grpc.condition: "reply" is not an input`,
		`{` + base + `, descriptors: "` + descriptors + `"}`:                                        "operators[0].grpc.descriptors: The descriptors have no service a.B",
		`{address: "a:1", method: grpc.health.v1.Health/Watch, descriptors: "` + descriptors + `"}`: "operators[0].grpc.descriptors: The method grpc.health.v1.Health/Watch streams",
	} {
		_, faults := Parse([]byte(grpcDefinition+"  grpc: "+section), typeregistry.Builtin())
		var found []string
		for _, f := range faults {
			found = append(found, f.Path+": "+f.Message)
		}
		if !strings.Contains(strings.Join(found, "\n"), want) {
			t.Errorf("%s: %v; want %q", section, found, want)
		}
	}
	if _, faults := Parse([]byte(strings.Replace(grpcDefinition, "{name: name, from: inputs.name}", "{name: api, from: inputs.api}", 1)+"  grpc: {method: a.B/C}"), typeregistry.Builtin()); len(faults) > 0 {
		t.Error(faults)
	}
}
