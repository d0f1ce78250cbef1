package secretstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/flowforge/flowforge/access/masking"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/outgoing"
)

// reason is the reason why a store did not return a value.
type reason int

const (
	refused     reason = iota // the store answered, and the same request fails again
	denied                    // the credentials do not allow it
	unreachable               // the store did not answer, or has no capacity; a later request can succeed
)

// failure describes why a store did not return a value. Its text contains no value.
type failure struct {
	reason reason
	text   string
	err    error
}

func (f *failure) Error() string {
	if f.err != nil {
		return f.text + ": " + f.err.Error()
	}
	return f.text
}

func (f *failure) Unwrap() error { return f.err }

func fail(r reason, format string, args ...any) error {
	return &failure{reason: r, text: fmt.Sprintf(format, args...)}
}

// transport is the failure of a request without a response.
func transport(err error) error {
	if errors.Is(err, outgoing.ErrRefused) {
		return &failure{reason: refused, text: "its address is private, and FLOWFORGE_OUTGOING_HOSTS does not list the host", err: err}
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	text := "it is not reachable"
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		text = "it did not respond in time"
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the address
	}
	return &failure{reason: unreachable, text: text, err: err}
}

// answered is the failure of a response with an unexpected status.
func answered(status int, detail string) error {
	if detail = shortened(detail); detail != "" {
		detail = " (" + detail + ")"
	}
	switch {
	case status >= 300 && status < 400:
		return fail(refused, "it responded with a redirect (status %d), which the server does not follow: enter the address of the server that it redirects to", status)
	case status == 429 || status == 412 || status >= 460:
		return fail(unreachable, "it responded with status %d%s", status, detail)
	case status == 401 || status == 403:
		return fail(denied, "it denied access%s: check the credentials of the store and their policy", detail)
	}
	return fail(refused, "it responded with status %d%s", status, detail)
}

// shortened formats text from outside on one line.
func shortened(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	const most = 200
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}

// is reports whether err is a failure with this reason.
func is(err error, r reason) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.reason == r
}

// explain describes err for users: it names the store, the path and the key, but no value.
func explain(err error, ref secret.Reference, masker *masking.Masker) error {
	f, ok := errors.AsType[*failure](err)
	if !ok {
		return err
	}
	code := apperr.Conflict
	if f.reason == unreachable {
		code = apperr.Unavailable
	}
	return apperr.Wrap(code, errors.New(masker.Text(f.Error())), fmt.Sprintf("The secret store %q did not return %s: %s.", ref.Store, ref.Place(), masker.Text(f.text)))
}

// checkValue returns why a value cannot be a secret.
func checkValue(value string) error {
	switch {
	case value == "":
		return fail(refused, "the value is empty")
	case len(value) > secret.MaxValue:
		return fail(refused, "the value exceeds %d KiB", secret.MaxValue>>10)
	case !utf8.ValidString(value) || strings.Contains(value, "\x00"):
		return fail(refused, "the value is not text; encode bytes as base64")
	case utf8.RuneCountInString(value) < secret.MinValue:
		return fail(refused, "the value has fewer than %d characters, and cannot be masked in logs", secret.MinValue)
	}
	return nil
}
