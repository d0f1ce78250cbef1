package web

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"connectrpc.com/connect"

	"github.com/flowforge/flowforge/apperr"
)

// RPCErrors returns an interceptor that maps every error of a Connect service to the code
// that Connect and gRPC clients know. It logs the cause of an internal error and hides it
// from the caller.
func RPCErrors(log *slog.Logger) connect.Interceptor { return rpcErrors{log} }

type rpcErrors struct{ log *slog.Logger }

func (e rpcErrors) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		resp, err := next(ctx, req)
		if err != nil {
			return nil, e.coded(err)
		}
		return resp, nil
	}
}

func (rpcErrors) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (e rpcErrors) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return e.coded(next(ctx, conn))
	}
}

// coded returns err as a Connect error.
func (e rpcErrors) coded(err error) error {
	if err == nil {
		return nil
	}
	if own, ok := errors.AsType[*connect.Error](err); ok {
		return own
	}
	code, known := rpcCode(apperr.CodeOf(err))
	switch {
	case known:
		return connect.NewError(code, errors.New(apperr.MessageOf(err)))
	case errors.Is(err, context.Canceled), errors.Is(err, io.ErrUnexpectedEOF):
		return connect.NewError(connect.CodeCanceled, errors.New("the caller canceled the call"))
	}
	e.log.Error("RPC failed", slog.Any("error", err))
	return connect.NewError(connect.CodeInternal, errors.New(apperr.MessageOf(err)))
}

func rpcCode(code apperr.Code) (c connect.Code, known bool) {
	switch code {
	case apperr.Invalid:
		return connect.CodeInvalidArgument, true
	case apperr.Unauthenticated:
		return connect.CodeUnauthenticated, true
	case apperr.Forbidden:
		return connect.CodePermissionDenied, true
	case apperr.NotFound, apperr.Gone:
		return connect.CodeNotFound, true
	case apperr.Conflict:
		return connect.CodeFailedPrecondition, true
	case apperr.Quota:
		return connect.CodeResourceExhausted, true
	case apperr.Unavailable:
		return connect.CodeUnavailable, true
	default:
		return 0, false
	}
}
