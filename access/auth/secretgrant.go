package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// grantContext separates the signatures of grants from those of tokens.
const grantContext = "flowforge secret grant\n"

// Grant signs the permission of the attempt of scope to read the secret called name. It needs no
// row: the holder must also present the token of the attempt.
func (s Signer) Grant(scope TaskScope, name string) []byte {
	b := make([]byte, 0, len(grantContext)+4*16+8+len(name))
	b = append(b, grantContext...)
	b = append(b, scope.ExecutionID[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(scope.NodeIndex)) //nolint:gosec // an index of at most 10,000s
	b = binary.BigEndian.AppendUint32(b, uint32(scope.Attempt))   //nolint:gosec // a small count
	b = append(b, scope.TenantID[:]...)
	b = append(b, scope.ProjectID[:]...)
	b = append(b, name...)
	m := hmac.New(sha256.New, s.key)
	m.Write(b)
	return m.Sum(nil)
}

// Granted reports whether mac was signed by Grant for the same scope and name.
func (s Signer) Granted(scope TaskScope, name string, mac []byte) bool {
	return hmac.Equal(mac, s.Grant(scope, name))
}
