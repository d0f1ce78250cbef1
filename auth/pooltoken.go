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

// PoolScope is what the token of a warm pod is good for: to take the work of one
// pool, which is one project's.
type PoolScope struct {
	TenantID  uuid.UUID
	ProjectID uuid.UUID
	Pool      [16]byte
	Born      time.Time // when the pod was made; seconds
}

const (
	poolTokenPrefix  = "ffp_"
	poolPayloadBytes = 16 + 16 + 16 + 8 + 8
)

// SignPool returns a token for scope that is good until expiry.
func (s Signer) SignPool(scope PoolScope, expiry time.Time) string {
	b := make([]byte, 0, poolPayloadBytes+sha256.Size)
	b = append(b, scope.TenantID[:]...)
	b = append(b, scope.ProjectID[:]...)
	b = append(b, scope.Pool[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(scope.Born.Unix())) //nolint:gosec // after 1970
	b = binary.BigEndian.AppendUint64(b, uint64(expiry.Unix()))     //nolint:gosec // after 1970
	b = append(b, s.poolMAC(b)...)
	return poolTokenPrefix + base64.RawURLEncoding.EncodeToString(b)
}

// VerifyPool returns the scope of token. It fails with apperr.Unauthenticated when
// the token was not signed by s or has expired at now.
func (s Signer) VerifyPool(token string, now time.Time) (PoolScope, error) {
	bad := apperr.New(apperr.Unauthenticated, "The token of the pool is not valid.")
	if len(token) < len(poolTokenPrefix) || token[:len(poolTokenPrefix)] != poolTokenPrefix {
		return PoolScope{}, bad
	}
	b, err := base64.RawURLEncoding.DecodeString(token[len(poolTokenPrefix):])
	if err != nil || len(b) != poolPayloadBytes+sha256.Size {
		return PoolScope{}, bad
	}
	payload := b[:poolPayloadBytes]
	if !hmac.Equal(s.poolMAC(payload), b[poolPayloadBytes:]) {
		return PoolScope{}, bad
	}
	if now.Unix() > int64(binary.BigEndian.Uint64(payload[56:])) { //nolint:gosec // signed by us
		return PoolScope{}, apperr.New(apperr.Unauthenticated, "The token of the pool has expired.")
	}
	return PoolScope{
		TenantID: uuid.UUID(payload[:16]), ProjectID: uuid.UUID(payload[16:32]), Pool: [16]byte(payload[32:48]),
		Born: time.Unix(int64(binary.BigEndian.Uint64(payload[48:])), 0).UTC(), //nolint:gosec // signed by us
	}, nil
}

// poolMAC differs from the codes of attempts' tokens, whatever the payload.
func (s Signer) poolMAC(payload []byte) []byte {
	return s.mac(append([]byte("flowforge pool\n"), payload...))
}
