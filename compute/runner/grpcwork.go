package runner

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/flowforge/flowforge/engine/expression"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// runGRPC calls the method of a grpc operator.
func runGRPC(a *attempt, work *flowforgev1.Grpc) ending {
	return a.runCall(func(ctx context.Context) error {
		inputs, err := a.inputsOf(ctx)
		if err != nil {
			return err
		}
		c := &remoteCall{work: work, inputs: inputs, outputs: a.paths.outputs, note: a.system}
		if err := c.connect(); err != nil {
			return err
		}
		return c.do(ctx)
	})
}

// remoteCall is the work of one grpc operator.
type remoteCall struct {
	work    *flowforgev1.Grpc
	inputs  map[string]any // of the operator, as decoded JSON
	token   string         // of the connection
	outputs string         // folder
	note    func(level, line string)
}

// connect takes the address, the certificates and the token from the connection of the call.
func (c *remoteCall) connect() error {
	if c.work.Connection == "" {
		return nil
	}
	connection, _ := c.inputs[c.work.Connection].(map[string]any)
	fields, _ := connection["fields"].(map[string]any)
	text := func(name string) string { value, _ := fields[name].(string); return value }
	if c.work.Address = text("address"); c.work.Address == "" {
		return fmt.Errorf("the input %s is not a connection of kind grpc", c.work.Connection)
	}
	delete(c.inputs, c.work.Connection)
	c.work.Plaintext = c.work.Plaintext || text("security") == "plaintext"
	if ca := text("ca_certificate"); ca != "" {
		c.work.Ca = ca
	}
	if name := text("server_name"); name != "" {
		c.work.ServerName = name
	}
	c.token = text("token")
	return nil
}

// do calls the method and writes the files body and metadata. The error is a sentence without a full stop.
func (c *remoteCall) do(ctx context.Context) error {
	security, err := c.security()
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient("dns:///"+c.work.Address, grpc.WithTransportCredentials(security), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
		grpc.WithUserAgent("flowforge"), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(int(c.work.MaxBytes))))
	if err != nil {
		return fmt.Errorf("the address %s is not valid: %w", c.work.Address, err)
	}
	defer conn.Close()
	outgoing, err := c.metadata()
	if err != nil {
		return err
	}
	ctx = metadata.NewOutgoingContext(ctx, outgoing)
	method, err := c.describe(ctx, conn)
	if err != nil {
		return err
	}
	text := &call{work: &flowforgev1.Http{Tagged: true, JsonBody: true, Body: c.work.Message}, inputs: c.inputs}
	if text.work.Body == "" {
		text.work.Body = "{}"
	}
	message, err := text.body()
	if err != nil {
		return fmt.Errorf("message: %w", err)
	}
	request := dynamicpb.NewMessage(method.descriptor.Input())
	if err := (protojson.UnmarshalOptions{Resolver: method.types}).Unmarshal([]byte(message), request); err != nil {
		return fmt.Errorf("the message is not a %s: %s", method.descriptor.Input().FullName(), problemOf(err))
	}
	response := dynamicpb.NewMessage(method.descriptor.Output())
	header, err := c.send(ctx, conn, request, response)
	if err != nil {
		return err
	}
	encoded, err := (protojson.MarshalOptions{Resolver: method.types, EmitDefaultValues: true}).Marshal(response)
	if err != nil {
		return fmt.Errorf("the response cannot be written as JSON: %s", problemOf(err))
	}
	return c.accept(encoded, header)
}

// problemOf is the message of an error of protojson, without its prefix, which changes between runs.
func problemOf(err error) string {
	_, message, found := strings.Cut(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: ")
	if !found {
		return err.Error()
	}
	return message
}

func (c *remoteCall) security() (credentials.TransportCredentials, error) {
	if c.work.Plaintext {
		return insecure.NewCredentials(), nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.work.ServerName}
	if c.work.Ca != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(c.work.Ca)) {
			return nil, errors.New("ca has no certificate in PEM format")
		}
	}
	return credentials.NewTLS(config), nil
}

// metadata are the headers of the call.
func (c *remoteCall) metadata() (metadata.MD, error) {
	out := metadata.MD{}
	text := &call{work: &flowforgev1.Http{Tagged: true}, inputs: c.inputs}
	for name, value := range c.work.Metadata {
		filled, err := text.fill(value, plainText)
		if err == nil && strings.ContainsAny(filled, "\r\n") {
			err = errors.New("metadata cannot have line breaks")
		}
		if err != nil {
			return nil, fmt.Errorf("metadata %s: %w", name, err)
		}
		out.Set(name, filled)
	}
	if c.token != "" {
		out.Set("authorization", "Bearer "+c.token)
	}
	return out, nil
}

// send calls the method, again after one of the retry codes.
func (c *remoteCall) send(ctx context.Context, conn *grpc.ClientConn, request, response *dynamicpb.Message) (metadata.MD, error) {
	for sent := 1; ; sent++ {
		var header metadata.MD
		begin := time.Now()
		limited, cancel := context.WithTimeout(ctx, time.Duration(c.work.DeadlineMs)*time.Millisecond)
		err := conn.Invoke(limited, "/"+c.work.Method, request, response, grpc.Header(&header))
		cancel()
		took := time.Since(begin).Round(time.Millisecond)
		if err == nil {
			c.note(levelInfo, fmt.Sprintf("%s: OK in %s", c.work.Method, took))
			return header, nil
		}
		if status.Code(err) == codes.DeadlineExceeded && endsSoon(ctx) {
			<-ctx.Done() // the server ended the call because of the timeout of the attempt
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		problem := c.problem(err)
		if !slices.Contains(c.work.RetryCodes, codeName(status.Code(err))) || sent > int(c.work.RetryLimit) {
			return nil, problem
		}
		pause := min(firstPause<<min(sent-1, 20), time.Duration(c.work.RetryMaxDelayMs)*time.Millisecond)
		c.note(levelWarn, fmt.Sprintf("%s; it is repeated in %s (retry %d of %d)", problem, pause, sent, c.work.RetryLimit))
		if !sleepContext(ctx, pause) {
			return nil, context.Cause(ctx)
		}
	}
}

// endsSoon reports whether the time of ctx is over in a moment: clocks of a server and a client differ.
func endsSoon(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return limited && time.Until(deadline) < time.Second
}

// problem is the error of a call with its status code.
func (c *remoteCall) problem(err error) error {
	s := status.Convert(err)
	// The server knows the deadline, and may end the stream a moment before the client does.
	late := s.Message() == context.DeadlineExceeded.Error() || strings.HasPrefix(s.Message(), "stream terminated by RST_STREAM")
	if s.Code() == codes.DeadlineExceeded && late {
		return fmt.Errorf("the call of %s ended with DEADLINE_EXCEEDED: no response within %s", c.work.Method, time.Duration(c.work.DeadlineMs)*time.Millisecond)
	}
	return fmt.Errorf("the call of %s ended with %s: %s", c.work.Method, codeName(s.Code()), shortened(cleanText([]byte(s.Message()))))
}

// codeName is the name of a status code in definitions, such as DEADLINE_EXCEEDED.
func codeName(code codes.Code) string {
	var name strings.Builder
	for i, letter := range code.String() {
		if i > 0 && letter >= 'A' && letter <= 'Z' && code != codes.OK {
			name.WriteByte('_')
		}
		name.WriteRune(letter)
	}
	if code == codes.Canceled {
		return "CANCELLED"
	}
	return strings.ToUpper(name.String())
}

// accept writes the outputs and checks the condition.
func (c *remoteCall) accept(response []byte, header metadata.MD) error {
	var body bytes.Buffer // protojson varies its spaces
	if err := json.Compact(&body, response); err != nil {
		return err
	}
	names := map[string]any{}
	for name, values := range header {
		if !strings.HasSuffix(name, "-bin") {
			names[name] = strings.Join(values, ", ")
		}
	}
	encoded, err := json.Marshal(names)
	err = errors.Join(err, os.WriteFile(filepath.Join(c.outputs, "body"), body.Bytes(), 0o600), os.WriteFile(filepath.Join(c.outputs, "metadata"), encoded, 0o600))
	if err != nil || c.work.Condition == "" {
		return err
	}
	condition, err := expression.Parse(c.work.Condition)
	if err != nil {
		return err
	}
	env := map[string]any{"metadata": names}
	maps.Copy(env, c.inputs)
	if env["body"], err = decodeJSON(body.Bytes()); err != nil {
		return err
	}
	met, err := condition.Bool(env)
	switch {
	case err != nil:
		return fmt.Errorf("the call of %s succeeded, but the condition could not be evaluated: %w", c.work.Method, err)
	case !met:
		return fmt.Errorf("the response of %s does not meet the condition %s", c.work.Method, condition)
	}
	return nil
}
