package runner

import (
	"context"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// healthServer answers health checks: the name of the service says how.
type healthServer struct {
	grpc_health_v1.UnimplementedHealthServer
	calls atomic.Int32
}

func (s *healthServer) Check(ctx context.Context, r *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	n := s.calls.Add(1)
	given, _ := metadata.FromIncomingContext(ctx)
	_ = grpc.SetHeader(ctx, metadata.Pairs("x-seen", strings.Join(given.Get("x-key"), "")+"|"+strings.Join(given.Get("authorization"), "")))
	switch r.GetService() {
	case "busy":
		if n < 3 {
			return nil, status.Error(codes.Unavailable, "try later")
		}
	case "unknown":
		return nil, status.Error(codes.NotFound, "no such service")
	case "slow":
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

// grpcServer serves health checks, and a method whose types import another file.
func grpcServer(t *testing.T, reflects bool, options ...grpc.ServerOption) (string, *healthServer) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, health := grpc.NewServer(options...), &healthServer{}
	grpc_health_v1.RegisterHealthServer(s, health)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "flowforge.v1.RunnerService", HandlerType: (*any)(nil), Metadata: "flowforge/v1/runner.proto",
		Methods: []grpc.MethodDesc{{MethodName: "List", Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			err := decode(&flowforgev1.ListRequest{})
			return &flowforgev1.ListResponse{Attempts: []*flowforgev1.AttemptStatus{{TaskId: "a"}, {TaskId: "b", Finished: true}}}, err
		}}},
	}, nil)
	if reflects {
		reflection.Register(s)
	}
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(s.Stop)
	return listener.Addr().String(), health
}

// remote makes a call and returns the outputs.
func remote(t *testing.T, inputs map[string]any, work *flowforgev1.Grpc) (body, headers string, err error) {
	t.Helper()
	if work.DeadlineMs == 0 {
		work.DeadlineMs = 20_000
	}
	work.MaxBytes = 1 << 20
	c := &remoteCall{work: work, inputs: inputs, outputs: t.TempDir(), note: func(string, string) {}}
	if err = c.connect(); err == nil {
		err = c.do(t.Context())
	}
	read := func(name string) string {
		content, _ := os.ReadFile(filepath.Join(c.outputs, name))
		return string(content)
	}
	return read("body"), read("metadata"), err
}

const healthCheck = "grpc.health.v1.Health/Check"

func TestGRPCCalls(t *testing.T) {
	t.Parallel()
	address, health := grpcServer(t, true)
	inputs := map[string]any{"name": "sales", "key": "k"}
	body, headers, err := remote(t, inputs, &flowforgev1.Grpc{
		Address: address, Plaintext: true, Method: healthCheck, Message: `{"service": "{{name}}"}`, Metadata: map[string]string{"x-key": "<{{key}}>"}, Condition: `body.status == "SERVING" && metadata["x-seen"] contains "<k>" && name == "sales"`,
	})
	if err != nil || body != `{"status":"SERVING"}` || !strings.Contains(headers, `"x-seen":"\u003ck\u003e|"`) {
		t.Errorf("%s %s %v", body, headers, err)
	}
	if body, _, err = remote(t, inputs, &flowforgev1.Grpc{Address: address, Plaintext: true, Method: "flowforge.v1.RunnerService/List"}); err != nil || body != `{"attempts":[{"taskId":"a","finished":false},{"taskId":"b","finished":true}]}` {
		t.Errorf("a type with imports: %s %v", body, err)
	}
	health.calls.Store(0)
	if _, _, err = remote(t, inputs, &flowforgev1.Grpc{Address: address, Plaintext: true, Method: healthCheck, Message: `{"service": "busy"}`, RetryCodes: []string{"UNAVAILABLE"}, RetryLimit: 3, RetryMaxDelayMs: 1}); err != nil || health.calls.Load() != 3 {
		t.Errorf("%v after %d calls", err, health.calls.Load())
	}
	for want, work := range map[string]*flowforgev1.Grpc{
		healthCheck + " ended with NOT_FOUND: no such service":                        {Method: healthCheck, Message: `{"service": "unknown"}`},
		healthCheck + " ended with DEADLINE_EXCEEDED: no response within 200ms":       {Method: healthCheck, Message: `{"service": "slow"}`, DeadlineMs: 200},
		"the response of " + healthCheck + " does not meet the condition body.status": {Method: healthCheck, Condition: `body.status == "NOT_SERVING"`},
		`the message is not a grpc.health.v1.HealthCheckRequest`:                      {Method: healthCheck, Message: `{"wrong": 1}`},
		"the service grpc.health.v1.Health has no method Nothing":                     {Method: "grpc.health.v1.Health/Nothing"},
		"the method grpc.health.v1.Health/Watch streams":                              {Method: "grpc.health.v1.Health/Watch"},
		"the server does not describe absent.Service":                                 {Method: "absent.Service/Call"},
		"message: The expression «nothing» is not valid":                              {Method: healthCheck, Message: `{"service": "{{nothing}}"}`},
	} {
		work.Address, work.Plaintext = address, true
		if _, _, err := remote(t, inputs, work); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	if _, _, err := remote(t, inputs, &flowforgev1.Grpc{Address: "127.0.0.1:1", Plaintext: true, Method: healthCheck}); err == nil || !strings.Contains(err.Error(), "UNAVAILABLE") {
		t.Error(err)
	}
}

func TestGRPCDescriptors(t *testing.T) {
	t.Parallel()
	address, _ := grpcServer(t, false)
	if _, _, err := remote(t, nil, &flowforgev1.Grpc{Address: address, Plaintext: true, Method: healthCheck}); err == nil || !strings.Contains(err.Error(), "the server has no reflection; set descriptors") {
		t.Error(err)
	}
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(grpc_health_v1.File_grpc_health_v1_health_proto)}})
	if err != nil {
		t.Fatal(err)
	}
	if body, _, err := remote(t, nil, &flowforgev1.Grpc{Address: address, Plaintext: true, Method: healthCheck, Descriptors: set}); err != nil || body != `{"status":"SERVING"}` {
		t.Errorf("%s %v", body, err)
	}
}

func TestGRPCConnection(t *testing.T) {
	t.Parallel()
	site := httptest.NewTLSServer(nil) // for its certificate
	site.Close()
	address, _ := grpcServer(t, true, grpc.Creds(credentials.NewServerTLSFromCert(&site.TLS.Certificates[0])))
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw}))
	connection := func(fields map[string]any) map[string]any {
		fields["address"], fields["token"] = address, "hunter2"
		return map[string]any{"api": map[string]any{"kind": "grpc", "fields": fields}}
	}
	work := func() *flowforgev1.Grpc {
		return &flowforgev1.Grpc{Connection: "api", Method: healthCheck, DeadlineMs: 5000}
	}
	_, headers, err := remote(t, connection(map[string]any{"security": "tls", "ca_certificate": ca, "server_name": "example.com"}), work())
	if err != nil || !strings.Contains(headers, "|Bearer hunter2") {
		t.Errorf("%s %v", headers, err)
	}
	for name, fields := range map[string]map[string]any{
		"system CAs":   {"security": "tls"},
		"another name": {"security": "tls", "ca_certificate": ca, "server_name": "other.example"},
		"plaintext":    {"security": "plaintext"},
	} {
		if _, _, err := remote(t, connection(fields), work()); err == nil {
			t.Errorf("%s: the call succeeds", name)
		}
	}
	if _, _, err := remote(t, map[string]any{"api": "x"}, work()); err == nil || !strings.Contains(err.Error(), "not a connection of kind grpc") {
		t.Error(err)
	}
}

func TestGRPCAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	address, _ := grpcServer(t, true)
	spec := polling("call", "body")
	spec.Poll, spec.Outputs = 0, spec.Outputs[:1]
	spec.Work = &flowforgev1.AttemptSpec_Grpc{Grpc: &flowforgev1.Grpc{Address: address, Plaintext: true, Method: healthCheck, DeadlineMs: 20_000, MaxBytes: 1 << 20}}
	f := b.run(t, spec)
	wantOutcome(t, f, succeeded)
	if got := values(f)["body"]; got != `{"status":"SERVING"}` {
		t.Error(got)
	}
	slow := polling("slow")
	slow.Poll, slow.Outputs, slow.TimeoutMs = 0, nil, int64(200*time.Millisecond/time.Millisecond)
	slow.Work = &flowforgev1.AttemptSpec_Grpc{Grpc: &flowforgev1.Grpc{Address: address, Plaintext: true, Method: healthCheck, Message: `{"service": "slow"}`, DeadlineMs: 60_000, MaxBytes: 1 << 20}}
	wantOutcome(t, b.run(t, slow), timedOut)
}
