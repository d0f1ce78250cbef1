package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
)

// Signer makes and checks the tokens of attempts: HMAC-SHA256 over the scope
// and the expiry. A token needs no row, so a report costs no look-up; whether
// the attempt is still running is checked where the report is applied.
type Signer struct{ key []byte }

// NewSigner returns a Signer with key, which must hold at least 32 random bytes
// and outlive restarts, because attempts do.
func NewSigner(key []byte) (Signer, error) {
	if len(key) < 32 {
		return Signer{}, apperr.New(apperr.Internal, "the key for task tokens has %d bytes; 32 are needed", len(key))
	}
	return Signer{key: key}, nil
}

const (
	taskTokenPrefix  = "fft_"
	taskPayloadBytes = 16 + 4 + 4 + 16 + 16 + 8
)

// Sign returns a token for scope that is good until expiry.
func (s Signer) Sign(scope TaskScope, expiry time.Time) string {
	b := make([]byte, 0, taskPayloadBytes+sha256.Size)
	b = append(b, scope.ExecutionID[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(scope.NodeIndex)) //nolint:gosec // an index of at most 10,000s
	b = binary.BigEndian.AppendUint32(b, uint32(scope.Attempt))   //nolint:gosec // a small count
	b = append(b, scope.TenantID[:]...)
	b = append(b, scope.ProjectID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(expiry.Unix())) //nolint:gosec // after 1970
	b = append(b, s.mac(b)...)
	return taskTokenPrefix + base64.RawURLEncoding.EncodeToString(b)
}

// Verify returns the scope of token. It fails with apperr.Unauthenticated when
// the token was not signed by s or has expired at now.
func (s Signer) Verify(token string, now time.Time) (TaskScope, error) {
	bad := apperr.New(apperr.Unauthenticated, "The task token is not valid.")
	if len(token) < len(taskTokenPrefix) || token[:len(taskTokenPrefix)] != taskTokenPrefix {
		return TaskScope{}, bad
	}
	b, err := base64.RawURLEncoding.DecodeString(token[len(taskTokenPrefix):])
	if err != nil || len(b) != taskPayloadBytes+sha256.Size {
		return TaskScope{}, bad
	}
	payload := b[:taskPayloadBytes]
	if !hmac.Equal(s.mac(payload), b[taskPayloadBytes:]) {
		return TaskScope{}, bad
	}
	if now.Unix() > int64(binary.BigEndian.Uint64(payload[56:])) { //nolint:gosec // signed by us
		return TaskScope{}, apperr.New(apperr.Unauthenticated, "The task token has expired.")
	}
	return TaskScope{
		ExecutionID: uuid.UUID(payload[:16]),
		NodeIndex:   int(binary.BigEndian.Uint32(payload[16:])),
		Attempt:     int(binary.BigEndian.Uint32(payload[20:])),
		TenantID:    uuid.UUID(payload[24:40]),
		ProjectID:   uuid.UUID(payload[40:56]),
	}, nil
}

func (s Signer) mac(payload []byte) []byte {
	m := hmac.New(sha256.New, s.key)
	m.Write(payload)
	return m.Sum(nil)
}
