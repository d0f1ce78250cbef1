package bucket

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/bucket/gcstest"
)

// TestGCSVectors: the signed text is that of Google's published test vectors "Simple GET" and
// "Simple PUT". The key is another one, so the test verifies the signature of the published hash
// of the canonical request.
func TestGCSVectors(t *testing.T) {
	t.Parallel()
	const email = "test-iam-credentials@dummy-project-id.iam.gserviceaccount.com"
	key, public := gcstest.NewKey(t, email)
	account, err := readServiceAccount(key)
	require.NoError(t, err)
	for method, request := range map[string]string{
		"GET": "00e2fb794ea93d7adb703edaebdd509821fcc7d4f1a79ac5c8d2b394df109320",
		"PUT": "78742860705da91404222d5d66ff89850292471199c3c2808d116ad12e6177b4",
	} {
		address := &url.URL{Scheme: "https", Host: gcsHost, Path: "/test-bucket/test-object"}
		require.NoError(t, account.sign(method, address, time.Date(2019, 2, 1, 9, 0, 0, 0, time.UTC), 10*time.Second))
		signed, signature, _ := strings.Cut(address.String(), "&X-Goog-Signature=")
		require.Equal(t, "https://storage.googleapis.com/test-bucket/test-object?X-Goog-Algorithm=GOOG4-RSA-SHA256"+
			"&X-Goog-Credential=test-iam-credentials%40dummy-project-id.iam.gserviceaccount.com%2F20190201%2Fauto%2Fstorage%2Fgoog4_request"+
			"&X-Goog-Date=20190201T090000Z&X-Goog-Expires=10&X-Goog-SignedHeaders=host", signed)
		digest := sha256.Sum256([]byte("GOOG4-RSA-SHA256\n20190201T090000Z\n20190201/auto/storage/goog4_request\n" + request))
		value, err := hex.DecodeString(signature)
		require.NoError(t, err)
		require.NoError(t, rsa.VerifyPKCS1v15(public, crypto.SHA256, digest[:], value))
	}
}
