package trigger

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ReplayWindow is the maximum difference between the time of a signed request and the time of
// the server.
const ReplayWindow = 5 * time.Minute

// longestKey is the maximum length in bytes of a sender's event ID.
const longestKey = 200

// verify returns why a request does not prove that its sender knows the secret; "" if it does.
func verify(kind Signature, secret string, header http.Header, body []byte, now time.Time) string {
	switch kind {
	case GitHub:
		sent, ok := strings.CutPrefix(header.Get("X-Hub-Signature-256"), "sha256=")
		if !ok {
			return "The request has no header X-Hub-Signature-256. Set the secret in the webhook's settings."
		}
		mac, err := hex.DecodeString(sent)
		if err != nil || !hmac.Equal(mac, sign(secret, body)) {
			return "The signature in X-Hub-Signature-256 does not match the secret."
		}
	case GitLab:
		if header.Get("X-Gitlab-Token") == "" {
			return "The request has no header X-Gitlab-Token. Set the secret token in the webhook's settings."
		}
		if !same(header.Get("X-Gitlab-Token"), secret) {
			return "The token in X-Gitlab-Token does not match the secret."
		}
	case Standard:
		return verifyStandard(secret, header, body, now)
	case Bearer:
		token, ok := strings.CutPrefix(header.Get("Authorization"), "Bearer ")
		if !ok {
			return "The request has no header Authorization: Bearer."
		}
		if !same(token, secret) {
			return "The bearer token does not match the secret."
		}
	default:
		return "The trigger has an unknown kind of signature."
	}
	return ""
}

// verifyStandard follows Standard Webhooks (https://www.standardwebhooks.com): the header
// Webhook-Signature has signatures of "<id>.<timestamp>.<body>" in the form "v1,<base64>".
func verifyStandard(secret string, header http.Header, body []byte, now time.Time) string {
	id, at := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	if id == "" || at == "" || header.Get("Webhook-Signature") == "" {
		return "The request needs the headers Webhook-Id, Webhook-Timestamp and Webhook-Signature."
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return "The header Webhook-Timestamp is not a Unix time in seconds."
	}
	want := sign(standardKey(secret), []byte(id+"."+at+"."), body)
	matches := false
	for part := range strings.FieldsSeq(header.Get("Webhook-Signature")) {
		if text, ok := strings.CutPrefix(part, "v1,"); ok {
			mac, err := base64.StdEncoding.DecodeString(text)
			matches = matches || err == nil && hmac.Equal(mac, want)
		}
	}
	if !matches {
		return "No signature in Webhook-Signature matches the secret."
	}
	if age := now.Sub(time.Unix(seconds, 0)).Abs(); age > ReplayWindow {
		return "The request was signed " + age.Round(time.Second).String() + " from now; the limit is " + ReplayWindow.String() + "."
	}
	return ""
}

// standardKey returns the key of a secret: whsec_ and base64, or any text.
func standardKey(secret string) string {
	if text, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if key, err := base64.StdEncoding.DecodeString(text); err == nil {
			return string(key)
		}
	}
	return secret
}

func sign(secret string, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// eventID returns the ID that the sender assigned to an event, and reuses when it repeats the
// event; "" if there is none.
func eventID(kind Signature, header http.Header) string {
	names := []string{"Idempotency-Key", "Webhook-Id"}
	switch kind { //nolint:exhaustive // the others have the usual names
	case GitHub:
		names = []string{"X-Github-Delivery"}
	case GitLab:
		names = []string{"Idempotency-Key", "X-Gitlab-Event-Uuid"}
	case Standard:
		names = []string{"Webhook-Id"}
	}
	for _, name := range names {
		if id := header.Get(name); id != "" {
			if len(id) > longestKey || !utf8.ValidString(id) { // Postgres stores UTF-8 alone
				sum := sha256.Sum256([]byte(id))
				return hex.EncodeToString(sum[:])
			}
			return id
		}
	}
	return ""
}

// secretHeader reports whether expressions and deliveries omit a header.
func secretHeader(name string) bool {
	switch name {
	case "authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token", "x-gitlab-token", "x-hub-signature", "x-hub-signature-256", "webhook-signature":
		return true
	}
	return false
}
