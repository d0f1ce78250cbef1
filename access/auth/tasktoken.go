package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
)

// Signer creates and verifies the tokens of attempts: HMAC-SHA256 over the scope and
// the expiry. A token needs no row, so a report needs no lookup; the code that applies
// the report checks whether the attempt is still running.
type Signer struct{ key []byte }

// NewSigner returns a Signer with key, which must have at least 32 random bytes and
// survive restarts, because attempts do.
func NewSigner(key []byte) (Signer, error) {
	if len(key) < 32 {
		return Signer{}, apperr.New(apperr.Internal, "the key for task tokens has %d bytes; 32 are needed", len(key))
	}
	return Signer{key: key}, nil
}

const (
	taskTokenPrefix  = "fft_"
	taskPayloadBytes = 16 + 4 + 4 + 16 + 16
)

// IsTaskToken reports whether token has the form of the token of an attempt.
func IsTaskToken(token string) bool { return strings.HasPrefix(token, taskTokenPrefix) }

// Sign returns a token for scope that is valid until expiry.
func (s Signer) Sign(scope TaskScope, expiry time.Time) string {
	b := make([]byte, 0, taskPayloadBytes+sealBytes)
	b = append(b, scope.ExecutionID[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(scope.NodeIndex)) //nolint:gosec // an index of at most 10,000s
	b = binary.BigEndian.AppendUint32(b, uint32(scope.Attempt))   //nolint:gosec // a small count
	b = append(b, scope.TenantID[:]...)
	b = append(b, scope.ProjectID[:]...)
	return s.seal(taskTokenPrefix, b, expiry)
}

// Verify returns the scope of token. It returns apperr.Unauthenticated when the token
// was not signed by s or has expired at now.
func (s Signer) Verify(token string, now time.Time) (TaskScope, error) {
	payload, err := s.open(taskTokenPrefix, token, taskPayloadBytes, now)
	if err != nil {
		return TaskScope{}, err
	}
	return TaskScope{
		ExecutionID: uuid.UUID(payload[:16]),
		NodeIndex:   int(binary.BigEndian.Uint32(payload[16:])),
		Attempt:     int(binary.BigEndian.Uint32(payload[20:])),
		TenantID:    uuid.UUID(payload[24:40]),
		ProjectID:   uuid.UUID(payload[40:56]),
	}, nil
}

// sealBytes is the size of a token without its payload: its expiry and its MAC.
const sealBytes = 8 + sha256.Size

// seal creates a token with payload; the prefix is its kind, and a token of one kind is
// not valid as another.
func (s Signer) seal(prefix string, payload []byte, expiry time.Time) string {
	b := binary.BigEndian.AppendUint64(payload, uint64(expiry.Unix())) //nolint:gosec // after 1970
	return prefix + base64.RawURLEncoding.EncodeToString(append(b, s.mac(prefix, b)...))
}

// open returns the payload, of size bytes, of a token that seal made with prefix and
// that is valid at now.
func (s Signer) open(prefix, token string, size int, now time.Time) ([]byte, error) {
	bad := apperr.New(apperr.Unauthenticated, "The token is not valid.")
	text, ok := strings.CutPrefix(token, prefix)
	if !ok {
		return nil, bad
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) != size+sealBytes {
		return nil, bad
	}
	sealed, code := b[:size+8], b[size+8:]
	if !hmac.Equal(s.mac(prefix, sealed), code) {
		return nil, bad
	}
	if now.Unix() > int64(binary.BigEndian.Uint64(sealed[size:])) { //nolint:gosec // signed by us
		return nil, apperr.New(apperr.Unauthenticated, "The token has expired.")
	}
	return sealed[:size], nil
}

func (s Signer) mac(prefix string, sealed []byte) []byte {
	m := hmac.New(sha256.New, s.key)
	m.Write([]byte(prefix))
	m.Write(sealed)
	return m.Sum(nil)
}
