package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Limits of the descriptors that a server sends by reflection.
const (
	maxReflectedFiles = 2000
	maxReflectedBytes = 16 << 20
)

// described is a unary method with the types of its files.
type described struct {
	descriptor protoreflect.MethodDescriptor
	types      *dynamicpb.Types
}

// describe finds the method in the descriptors of the definition, or by server reflection.
func (c *remoteCall) describe(ctx context.Context, conn *grpc.ClientConn) (described, error) {
	var set descriptorpb.FileDescriptorSet
	if len(c.work.Descriptors) > 0 {
		if err := proto.Unmarshal(c.work.Descriptors, &set); err != nil {
			return described{}, errors.New("descriptors is not a FileDescriptorSet")
		}
	} else {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(c.work.DeadlineMs)*time.Millisecond)
		defer cancel()
		files, err := c.reflected(ctx, conn)
		if err != nil {
			return described{}, err
		}
		set.File = files
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return described{}, fmt.Errorf("the descriptors of %s are not complete: %s", c.work.Method, problemOf(err))
	}
	service, name, _ := strings.Cut(c.work.Method, "/")
	found, err := files.FindDescriptorByName(protoreflect.FullName(service))
	of, isService := found.(protoreflect.ServiceDescriptor)
	if err != nil || !isService {
		return described{}, fmt.Errorf("there is no service %s", service)
	}
	method := of.Methods().ByName(protoreflect.Name(name))
	switch {
	case method == nil:
		return described{}, fmt.Errorf("the service %s has no method %s", service, name)
	case method.IsStreamingClient() || method.IsStreamingServer():
		return described{}, fmt.Errorf("the method %s streams; an operator calls unary methods", c.work.Method)
	}
	return described{method, dynamicpb.NewTypes(files)}, nil
}

// reflected requests the file of the service and all files that it imports. Servers that have only the
// older version of the protocol use the same messages under another name.
func (c *remoteCall) reflected(ctx context.Context, conn *grpc.ClientConn) ([]*descriptorpb.FileDescriptorProto, error) {
	files, err := c.reflectedBy(ctx, conn, "v1")
	if status.Code(err) == codes.Unimplemented {
		files, err = c.reflectedBy(ctx, conn, "v1alpha")
	}
	switch {
	case err == nil:
		return files, nil
	case status.Code(err) == codes.Unimplemented:
		return nil, fmt.Errorf("the server has no reflection; set descriptors to a FileDescriptorSet of %s", c.work.Method)
	}
	if s, is := status.FromError(err); is {
		return nil, fmt.Errorf("server reflection of %s ended with %s: %s", c.work.Address, codeName(s.Code()), shortened(cleanText([]byte(s.Message()))))
	}
	return nil, err
}

func (c *remoteCall) reflectedBy(ctx context.Context, conn *grpc.ClientConn, version string) ([]*descriptorpb.FileDescriptorProto, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/grpc.reflection."+version+".ServerReflection/ServerReflectionInfo")
	if err != nil {
		return nil, err
	}
	service, _, _ := strings.Cut(c.work.Method, "/")
	known := map[string]*descriptorpb.FileDescriptorProto{}
	size := 0
	request := func(r *reflectionv1.ServerReflectionRequest) error {
		if err := stream.SendMsg(r); err != nil {
			return errors.Join(stream.RecvMsg(&reflectionv1.ServerReflectionResponse{}), err)
		}
		var response reflectionv1.ServerReflectionResponse
		if err := stream.RecvMsg(&response); err != nil {
			return err
		}
		if e := response.GetErrorResponse(); e != nil {
			return fmt.Errorf("the server does not describe %s: %s", service, shortened(e.GetErrorMessage()))
		}
		for _, raw := range response.GetFileDescriptorResponse().GetFileDescriptorProto() {
			if size += len(raw); size > maxReflectedBytes || len(known) > maxReflectedFiles {
				return errors.New("the server describes more types than FlowForge reads; set descriptors to a FileDescriptorSet of the service")
			}
			var file descriptorpb.FileDescriptorProto
			if err := proto.Unmarshal(raw, &file); err != nil {
				return errors.New("the server sent a descriptor that cannot be read")
			}
			known[file.GetName()] = &file
		}
		return nil
	}
	err = request(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service}})
	if err != nil {
		return nil, err
	}
	for name := missingImport(known); name != ""; name = missingImport(known) {
		if standard, err := protoregistry.GlobalFiles.FindFileByPath(name); err == nil && strings.HasPrefix(name, "google/protobuf/") {
			known[name] = protodesc.ToFileDescriptorProto(standard)
			continue
		}
		if err := request(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_FileByFilename{FileByFilename: name}}); err != nil {
			return nil, err
		}
		if known[name] == nil {
			return nil, fmt.Errorf("the server does not describe the file %s", name)
		}
	}
	files := make([]*descriptorpb.FileDescriptorProto, 0, len(known))
	for _, file := range known {
		files = append(files, file)
	}
	return files, nil
}

// missingImport is a file that one of the files imports and that is not among them; "" when there is none.
func missingImport(known map[string]*descriptorpb.FileDescriptorProto) string {
	for _, file := range known {
		for _, name := range file.GetDependency() {
			if known[name] == nil {
				return name
			}
		}
	}
	return ""
}
