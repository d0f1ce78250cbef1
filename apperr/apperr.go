// Package apperr defines the error type that crosses package boundaries: a code for
// programs, a sentence for users, and the invalid fields if there are any.
package apperr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
)

// Code describes what kind of failure an error is; handlers map it to a status.
type Code string

// The codes. An error that is not an *Error is Unavailable when a database or
// another service could not be reached, and Internal otherwise: the server logs it
// once with a request id and shows only that id to the user.
const (
	Invalid         Code = "invalid"         // 422: a value of the request is wrong
	Unauthenticated Code = "unauthenticated" // 401
	Forbidden       Code = "forbidden"       // 403
	NotFound        Code = "not_found"       // 404
	Conflict        Code = "conflict"        // 409
	Gone            Code = "gone"            // 410: it existed, and is no longer kept
	Quota           Code = "quota"           // 429: a limit is reached
	Unavailable     Code = "unavailable"     // 503: a dependency is down; try again
	Internal        Code = "internal"        // 500
)

// Field is one invalid value: Path is dotted ("inputs.epochs", "operators[2].retry.limit").
type Field struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Error is an error that a user may see. Message is a complete sentence.
type Error struct {
	Code    Code
	Message string
	Fields  []Field
	Err     error
}

// Error returns the message followed by the cause if there is one.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New returns an error of code with a formatted message.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns an error of code that shows message and keeps err for the log.
func Wrap(code Code, err error, message string) *Error {
	return &Error{Code: code, Message: message, Err: err}
}

// InvalidFields returns an Invalid error that lists fields, or nil when there are none.
func InvalidFields(message string, fields []Field) error {
	if len(fields) == 0 {
		return nil
	}
	return &Error{Code: Invalid, Message: message, Fields: fields}
}

// CodeOf returns the code of err, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	if isUnreachable(err) {
		return Unavailable
	}
	if isUnstorable(err) {
		return Invalid
	}
	return Internal
}

// isUnreachable reports whether another service did not respond: a connection
// failed, broke or took too long, or the SQLSTATE indicates that the database is shutting
// down (57P), unreachable (08) or out of resources (53), or that a statement (57014), a
// lock (55P03) or the pause before the next statement of a transaction (25P03, on a server
// without CPU time) took too long.
func isUnreachable(err error) bool {
	if _, ok := errors.AsType[*net.OpError](err); ok || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	state := sqlState(err)
	return strings.HasPrefix(state, "57P") || strings.HasPrefix(state, "08") || strings.HasPrefix(state, "53") || slices.Contains([]string{"57014", "55P03", "25P03"}, state)
}

// isUnstorable reports whether the database rejected a string of the caller because
// it contains NUL or bytes that are not UTF-8.
func isUnstorable(err error) bool {
	state := sqlState(err)
	return state == "22021" || state == "22P05"
}

// sqlState returns the SQLSTATE of a database error, or "" for other errors.
func sqlState(err error) string {
	e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	if !ok {
		return ""
	}
	return e.SQLState()
}

// MessageOf returns the sentence that a user may see, without the cause.
func MessageOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Message
	}
	if isUnreachable(err) {
		return "A service that FlowForge depends on is not responding. Try again in a moment."
	}
	if isUnstorable(err) {
		return "The request contains characters that cannot be stored, such as NUL."
	}
	return "Something went wrong on our side."
}

// TextOf returns the sentence of MessageOf with the invalid fields in one line.
func TextOf(err error) string {
	parts := []string{MessageOf(err)}
	for _, f := range FieldsOf(err) {
		parts = append(parts, f.Path+": "+f.Message)
	}
	return strings.Join(parts, " ")
}

// FieldsOf returns the invalid fields that err carries.
func FieldsOf(err error) []Field {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Fields
	}
	return nil
}

// Is reports whether err carries code.
func Is(err error, code Code) bool { return CodeOf(err) == code }
