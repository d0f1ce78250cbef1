package workflow

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
)

// GRPC is the unary call of a grpc operator. Message and the values of Metadata can have tags.
type GRPC struct {
	Connection  string // the input with a connection of kind grpc; "": none
	Address     string // host:port; "": that of the connection
	Method      string // package.Service/Method
	Message     string // a JSON object
	Metadata    map[string]string
	Deadline    time.Duration // of one call
	Plaintext   bool          // no TLS
	CA          string        // PEM of the accepted certificate authorities; "": those of the system
	ServerName  string        // in the certificate; "": the host of the address
	Descriptors []byte        // a FileDescriptorSet; nil: server reflection
	Again       *GRPCRetry    // nil: one call
	Expected    *expression.Expression
	MaxMiB      int // size of the response; 0: DefaultGRPCMiB
}

// GRPCRetry repeats a call within the same attempt.
type GRPCRetry struct {
	Status   []string // after these status codes, such as UNAVAILABLE
	Limit    int
	MaxDelay time.Duration // of one pause
}

// DefaultGRPCMiB is the maximum size of a response whose operator sets none.
const DefaultGRPCMiB = 16

const (
	grpcConnection   = "grpc"
	defaultDeadline  = 30 * time.Second
	maxGRPCMiB       = 256
	maxDescriptors   = 1 << 20
	maxGRPCMessage   = 1 << 20
	responseMetadata = "metadata"
)

// GRPCStatuses are the status codes after which a call can be repeated.
func GRPCStatuses() []string {
	return []string{
		"CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED",
		"FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
	}
}

type grpcJSON struct {
	Connection  string            `json:"connection,omitempty"`
	Address     string            `json:"address,omitempty"`
	Method      string            `json:"method"`
	Message     json.RawMessage   `json:"message,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Deadline    string            `json:"deadline"`
	Plaintext   bool              `json:"plaintext,omitempty"`
	CA          string            `json:"ca,omitempty"`
	ServerName  string            `json:"server_name,omitempty"`
	Descriptors string            `json:"descriptors,omitempty"`
	Condition   string            `json:"condition,omitempty"`
	Retry       *grpcRetryJSON    `json:"retry,omitempty"`
	MaxSize     string            `json:"max_size,omitempty"`
}

type grpcRetryJSON struct {
	Status   []string `json:"status"`
	Limit    int      `json:"limit"`
	MaxDelay string   `json:"max_delay"`
}

func (g *GRPC) wire() *grpcJSON {
	if g == nil {
		return nil
	}
	out := &grpcJSON{
		Connection: g.Connection, Address: g.Address, Method: g.Method, Metadata: g.Metadata, Deadline: units.Compact(g.Deadline), Plaintext: g.Plaintext,
		CA: g.CA, ServerName: g.ServerName, MaxSize: writeMiB(g.MaxMiB),
	}
	if g.Message != "" {
		out.Message = json.RawMessage(g.Message)
	}
	if len(g.Descriptors) > 0 {
		out.Descriptors = base64.StdEncoding.EncodeToString(g.Descriptors)
	}
	if g.Expected != nil {
		out.Condition = g.Expected.String()
	}
	if r := g.Again; r != nil {
		out.Retry = &grpcRetryJSON{r.Status, r.Limit, units.Compact(r.MaxDelay)}
	}
	return out
}

// Text is the call for people to read.
func (g *GRPC) Text() string {
	lines := []string{strings.TrimSpace(g.Address + " " + g.Method)}
	for _, name := range slices.Sorted(maps.Keys(g.Metadata)) {
		lines = append(lines, name+": "+g.Metadata[name])
	}
	if g.Message != "" {
		lines = append(lines, "", g.Message)
	}
	if g.Connection != "" {
		lines = append(lines, "", "Connection: "+g.Connection)
	}
	if g.Expected != nil {
		lines = append(lines, "", "Condition: "+g.Expected.String())
	}
	return strings.Join(lines, "\n")
}

// readGRPC reads the section of a grpc operator.
func readGRPC(p *parser, parent *object) *GRPC {
	v, at, _ := parent.get("grpc")
	o := p.object(v, at)
	if o == nil {
		return nil
	}
	defer o.finish()
	g := &GRPC{
		Connection: o.text(100, "connection"), Address: o.text(300, "address"), Method: strings.TrimPrefix(o.text(500, "method"), "/"),
		Metadata: o.textMap("metadata"), Deadline: o.duration(defaultDeadline, "deadline"), Plaintext: o.boolean(false, "plaintext"),
		CA: o.text(maxGRPCMessage, "ca"), ServerName: o.text(300, "server_name"), Expected: o.expression("condition"), MaxMiB: o.size(0, "max_size"),
	}
	switch message, path, _ := o.get("message"); m := message.(type) {
	case nil:
	case map[string]any:
		if encoded, err := json.Marshal(m); err == nil {
			g.Message = string(encoded)
		}
	default:
		o.add(path, "Write the message as a mapping of its fields.")
	}
	if text := o.text(2*maxDescriptors, "descriptors"); text != "" {
		set, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil {
			o.add(o.at("descriptors"), "This must be a FileDescriptorSet in base64, such as the output of protoc --include_imports --descriptor_set_out=/dev/stdout service.proto | base64 -w0.")
		}
		g.Descriptors = set
	}
	g.Again = readGRPCRetry(p, o)
	if g.Deadline < time.Millisecond {
		o.add(o.at("deadline"), "Set a deadline of at least 1ms.")
	}
	if g.MaxMiB > maxGRPCMiB {
		o.add(o.at("max_size"), "A response has at most %dMi.", maxGRPCMiB)
	}
	return g
}

func readGRPCRetry(p *parser, parent *object) *GRPCRetry {
	v, at, _ := parent.get("retry")
	o := p.object(v, at)
	if o == nil {
		return nil
	}
	defer o.finish()
	r := &GRPCRetry{Status: o.texts(20, "status"), Limit: o.whole(defaultHTTPRetries, 1, maxHTTPRetries, "limit"), MaxDelay: o.duration(defaultHTTPDelay, "max_delay")}
	for i, status := range r.Status {
		if !slices.Contains(GRPCStatuses(), status) {
			o.add(fmt.Sprintf("%s[%d]", o.at("status"), i), "This is not a gRPC status code.%s", suggestion(strings.ToUpper(status), GRPCStatuses()))
		}
	}
	if len(r.Status) == 0 {
		o.add(o.at("status"), "List the status codes after which the call is repeated, such as [UNAVAILABLE].")
	}
	return r
}

var (
	grpcMethod   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*/[A-Za-z_][A-Za-z0-9_]*$`)
	metadataName = formOf(`^[a-z0-9_.-]+$`, 200)
)

func checkGRPC(c *sectionCheck) {
	c.refuseHTTP()
	c.refuseCode()
	g, at := c.op.GRPC, c.path+".grpc"
	if g == nil {
		c.add(at, "Set the call: grpc: {address: host:port, method: package.Service/Method}.")
		return
	}
	if !grpcMethod.MatchString(g.Method) {
		c.add(at+".method", "Write the method as package.Service/Method.")
	} else if len(g.Descriptors) > 0 {
		if _, err := MethodIn(g.Descriptors, g.Method); err != nil {
			c.add(at+".descriptors", "%s", sentence(err.Error()))
		}
	}
	if g.Address != "" {
		host, port, err := net.SplitHostPort(g.Address)
		if n, wrong := strconv.Atoi(port); err != nil || wrong != nil || n < 1 || n > 65535 || host == "" || strings.ContainsAny(g.Address, "/@{ ") {
			c.add(at+".address", "Write the address as host:port, without a scheme and without tags.")
		}
	}
	if g.Plaintext && (g.CA != "" || g.ServerName != "") {
		c.add(at+".plaintext", "Without TLS, ca and server_name have no effect.")
	}
	for name, value := range g.Metadata {
		if !metadataName.MatchString(name) || strings.HasPrefix(name, "grpc-") || strings.HasSuffix(name, "-bin") || strings.ContainsAny(value, "\r\n") {
			c.add(at+".metadata."+shorten(name, 60), "Use lower-case letters, digits, _, - and . in names, which neither begin with grpc- nor end with -bin, and values without line breaks.")
		}
	}
	for i, out := range c.op.Outputs {
		if !slices.Contains([]string{responseBody, responseMetadata}, out.Name) {
			c.add(fmt.Sprintf("%s.outputs[%d].name", c.path, i), "An operator of type grpc has the outputs body and metadata, not %q.", shorten(out.Name, 60))
		}
	}
}

// MethodIn finds a method in a FileDescriptorSet. It must be unary.
func MethodIn(set []byte, name string) (protoreflect.MethodDescriptor, error) {
	var parsed descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(set, &parsed); err != nil {
		return nil, fmt.Errorf("this is not a FileDescriptorSet")
	}
	files, err := protodesc.NewFiles(&parsed)
	if err != nil {
		return nil, fmt.Errorf("the descriptors are not complete: %w; create them with --include_imports", err)
	}
	service, method, _ := strings.Cut(name, "/")
	found, err := files.FindDescriptorByName(protoreflect.FullName(service))
	described, isService := found.(protoreflect.ServiceDescriptor)
	if err != nil || !isService {
		return nil, fmt.Errorf("the descriptors have no service %s", service)
	}
	m := described.Methods().ByName(protoreflect.Name(method))
	switch {
	case m == nil:
		return nil, fmt.Errorf("the service %s has no method %s", service, method)
	case m.IsStreamingClient() || m.IsStreamingServer():
		return nil, fmt.Errorf("the method %s streams; an operator calls unary methods", name)
	}
	return m, nil
}

// linkGRPC checks the tags, the connection and the expression of a grpc operator, whose inputs are known now.
func linkGRPC(l *linker, op *Operator, path string) {
	g := op.GRPC
	if g == nil || op.Type != TypeGRPC {
		return
	}
	path += ".grpc"
	if in := l.connectionInput(op, g.Connection, path); in != nil && in.Type != nil {
		g.Connection = in.Name
		if in.Type.Kind != typeregistry.KindConnection || in.Type.Params.Connection != grpcConnection {
			l.add(path+".connection", "The input %s has the type %s; use Connection<grpc>.", in.Name, in.Type)
		}
	}
	if g.Address == "" && g.Connection == "" {
		l.add(path+".address", "Set the address, or add an input of type Connection<grpc>.")
	}
	if g.Address != "" && g.Connection != "" {
		l.add(path+".address", "The connection sets the address of the server. Remove one of them.")
	}
	names := valueNames(op, g.Connection)
	l.httpTags(op, g.Message, path+".message", names, true)
	for _, name := range slices.Sorted(maps.Keys(g.Metadata)) {
		l.httpTags(op, g.Metadata[name], path+".metadata."+shorten(name, 60), names, true)
	}
	response := []string{responseBody, responseMetadata}
	for _, name := range response {
		if slices.Contains(names, name) && g.Expected != nil {
			l.add(path, "The input %s has the name of a part of the response. Rename the input.", name)
		}
	}
	l.httpNames(op, g.Expected, path+".condition", slices.Concat(response, names), true)
}
