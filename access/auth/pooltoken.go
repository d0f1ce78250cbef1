package auth

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// PoolScope is the scope of a warm pod's token: it may take work of one pool, which
// belongs to one project.
type PoolScope struct {
	TenantID  uuid.UUID
	ProjectID uuid.UUID
	Pool      [16]byte
	Born      time.Time // creation time of the pod; seconds
}

const (
	poolTokenPrefix  = "ffp_"
	poolPayloadBytes = 16 + 16 + 16 + 8
)

// SignPool returns a token for scope that is valid until expiry.
func (s Signer) SignPool(scope PoolScope, expiry time.Time) string {
	b := make([]byte, 0, poolPayloadBytes+sealBytes)
	b = append(b, scope.TenantID[:]...)
	b = append(b, scope.ProjectID[:]...)
	b = append(b, scope.Pool[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(scope.Born.Unix())) //nolint:gosec // after 1970
	return s.seal(poolTokenPrefix, b, expiry)
}

// VerifyPool returns the scope of token. It returns apperr.Unauthenticated when the
// token was not signed by s or has expired at now.
func (s Signer) VerifyPool(token string, now time.Time) (PoolScope, error) {
	payload, err := s.open(poolTokenPrefix, token, poolPayloadBytes, now)
	if err != nil {
		return PoolScope{}, err
	}
	return PoolScope{
		TenantID: uuid.UUID(payload[:16]), ProjectID: uuid.UUID(payload[16:32]), Pool: [16]byte(payload[32:48]),
		Born: time.Unix(int64(binary.BigEndian.Uint64(payload[48:])), 0).UTC(), //nolint:gosec // signed by us
	}, nil
}
