// Package apperr is the one error type that crosses package borders: a code for
// programs, a sentence for people, and where it helps the field at fault.
package apperr

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

// Code says what kind of failure an error is; handlers map it to a status.
type Code string

// The codes. An error that is not an *Error is Unavailable when a database or
// another service could not be reached, and else Internal: logged once with a
// request id, and shown to the reader as that id alone.
const (
	Invalid         Code = "invalid"         // 422: a value of the request is wrong
	Unauthenticated Code = "unauthenticated" // 401
	Forbidden       Code = "forbidden"       // 403
	NotFound        Code = "not_found"       // 404
	Conflict        Code = "conflict"        // 409
	Quota           Code = "quota"           // 429: a limit is reached
	Unavailable     Code = "unavailable"     // 503: a dependency is down; try again
	Internal        Code = "internal"        // 500
)

// Field is one value at fault: Path is dotted ("inputs.epochs", "operators[2].retry.limit").
type Field struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Error is an error that a reader may see. Message is a sentence in plain words.
type Error struct {
	Code    Code
	Message string
	Fields  []Field
	Err     error
}

// Error returns the message, and the cause behind it when there is one.
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

// InvalidFields returns an Invalid error for all fields at fault, or nil when there are none.
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
	if isAway(err) {
		return Unavailable
	}
	if isUnkept(err) {
		return Invalid
	}
	return Internal
}

// isAway reports whether err says that another program did not answer: a
// connection that could not be made or broke, or the SQLSTATE classes of a
// database that is going down (57P), lost (08) or out of resources (53).
func isAway(err error) bool {
	if _, ok := errors.AsType[*net.OpError](err); ok || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	state := sqlState(err)
	return strings.HasPrefix(state, "57P") || strings.HasPrefix(state, "08") || strings.HasPrefix(state, "53")
}

// isUnkept reports whether a database could not keep a text of the caller's: it
// holds NUL or bytes that are not UTF-8.
func isUnkept(err error) bool {
	state := sqlState(err)
	return state == "22021" || state == "22P05"
}

// sqlState returns the SQLSTATE of a database's error, "" for others.
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

// MessageOf returns the sentence that a reader may see, without any cause.
func MessageOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Message
	}
	if isAway(err) {
		return "A part of the server does not answer. Try again in a moment."
	}
	if isUnkept(err) {
		return "The request holds characters that cannot be kept, such as NUL."
	}
	return "Something went wrong on our side."
}

// FieldsOf returns the fields at fault that err carries.
func FieldsOf(err error) []Field {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Fields
	}
	return nil
}

// Is reports whether err carries code.
func Is(err error, code Code) bool { return CodeOf(err) == code }
