package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"unicode"
	"unicode/utf8"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// notYetError is an error after which a sensor polls again. For other operators it is an error like any.
type notYetError struct{ error }

func (e notYetError) Unwrap() error { return e.error }

func notYetf(format string, args ...any) error { return notYetError{fmt.Errorf(format, args...)} }

// comesLater reports whether a server with this status may answer otherwise later: it has no such
// object yet, or it is overloaded or away.
func comesLater(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= http.StatusInternalServerError
}

// capitalized is an error as a sentence.
func capitalized(err error) string {
	text := err.Error()
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

// polled is the end of a poll, which ended with err. A poll without an answer in time is repeated, too.
func polled(ctx context.Context, a *attempt, err error) ending {
	cause := context.Cause(ctx)
	if late, is := errors.AsType[timeoutError](cause); is {
		return ending{outcome: flowforgev1.Outcome_OUTCOME_NOT_YET, message: fmt.Sprintf("The poll received no response within %s.", late.limit)}
	}
	if cause != nil {
		return stopped(cause, -1)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(a.paths.outputs, "polls"), []byte(strconv.Itoa(int(a.spec.Poll))), 0o600)
	}
	if err == nil {
		return ending{outcome: flowforgev1.Outcome_OUTCOME_SUCCEEDED}
	}
	if _, is := errors.AsType[notYetError](err); is {
		return ending{outcome: flowforgev1.Outcome_OUTCOME_NOT_YET, message: capitalized(err)}
	}
	return ending{outcome: flowforgev1.Outcome_OUTCOME_FAILED, class: classError, message: capitalized(err), code: 1}
}
