package message

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/data/outgoing"
	"github.com/flowforge/flowforge/platform/units"
)

const (
	maxAnswer = 1 << 10   // bytes of an answer that are read
	maxAfter  = time.Hour // the longest wait that a receiver can request
)

// post sends the request of build and judges the answer.
func post(ctx context.Context, d Dialer, build func() (*http.Request, error)) (string, error) {
	req, err := build()
	if err != nil {
		return "", &SendError{Reason: "The address of the channel is not valid. Edit the connection.", Permanent: true, Err: err}
	}
	req.Header.Set("User-Agent", "FlowForge")
	started := time.Now()
	res, err := d.Client(Limit).Do(req)
	if err != nil {
		return "", unreachable(ctx, err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // an answer without a body is an answer
	answer := fmt.Sprintf("%d %s after %s", res.StatusCode, http.StatusText(res.StatusCode), units.Duration(time.Since(started)))
	if res.StatusCode < http.StatusMultipleChoices {
		return answer, nil
	}
	reason := "The receiver responded with " + answer + "."
	if text := oneLine(body); text != "" {
		reason += fmt.Sprintf(" It reported %q.", text)
	}
	return "", &SendError{Reason: reason, Permanent: permanent(res.StatusCode), After: retryAfter(res.Header.Get("Retry-After"), time.Now())}
}

// permanent reports whether another attempt would get the same answer. Receivers that are
// overloaded or restart answer with another status.
func permanent(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status < http.StatusInternalServerError
}

// retryAfter reads the header of RFC 9110, section 10.2.3: seconds or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return min(max(time.Duration(seconds)*time.Second, 0), maxAfter)
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(at.Sub(now), 0), maxAfter)
	}
	return 0
}

func oneLine(body []byte) string {
	return cut(strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "")), " "), 200)
}

// unreachable describes an error without the address, which can have a secret.
func unreachable(ctx context.Context, err error) *SendError {
	if of, ok := errors.AsType[*url.Error](err); ok {
		err = of.Err
	}
	f := &SendError{Err: err}
	_, dns := errors.AsType[*net.DNSError](err)
	var timeout net.Error
	switch {
	case errors.Is(err, outgoing.ErrRefused):
		f.Reason = "The server does not connect to private and local addresses. An administrator lists exceptions in FLOWFORGE_OUTGOING_HOSTS."
		f.Permanent = true
	case dns:
		f.Reason = "The name of the host cannot be resolved."
	case ctx.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		f.Reason = fmt.Sprintf("The receiver did not respond within %s.", units.Duration(Limit))
	default:
		f.Reason = "The connection failed: " + innermost(err) + "."
	}
	return f
}

func innermost(err error) string {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return cut(err.Error(), 200)
}

func asJSON(ctx context.Context, address string, body any) (*http.Request, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode the message: %w", err)
	}
	return jsonRequest(ctx, address, raw)
}

func jsonRequest(ctx context.Context, address string, raw []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(raw))
	if err != nil {
		return nil, errors.New("the address cannot be read")
	}
	if req.URL.Host == "" || req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return nil, errors.New("the address is not an http or https address")
	}
	req.Header.Set("Content-Type", "application/json")
	return req, nil
}

// webhook is a request as the Standard Webhooks specification 1.0 describes it: the signature
// covers the ID, the time and the body.
func webhook(ctx context.Context, c Channel, m Message) (*http.Request, error) {
	raw, err := json.Marshal(webhookBody(m))
	if err != nil {
		return nil, fmt.Errorf("encode the message: %w", err)
	}
	if m.Custom != nil {
		raw = m.Custom.JSON
	}
	req, err := jsonRequest(ctx, c.text("url"), raw)
	if err != nil {
		return nil, err
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("Webhook-Id", m.ID)
	req.Header.Set("Webhook-Timestamp", at)
	req.Header.Set("Webhook-Signature", "v1,"+Sign(c.Secrets["signing_secret"], m.ID, at, raw))
	return req, nil
}

// secretPrefix marks a signing secret that is base64, as the specification has it.
const secretPrefix = "whsec_"

// Sign returns the base64 of the HMAC-SHA256 of "ID.TIME.BODY". A secret that begins with "whsec_"
// is base64; any other secret is used as it is.
func Sign(secret, id, at string, body []byte) string {
	key := []byte(secret)
	if encoded, ok := strings.CutPrefix(secret, secretPrefix); ok {
		if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			key = decoded
		}
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + at + "."))
	mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
