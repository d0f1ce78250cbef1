package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"fmt"

	"github.com/flowforge/flowforge/apperr"
)

// Sealer encrypts and authenticates small texts that clients return later: AES-256-GCM
// with a random nonce. The purpose of a text is authenticated as well, so that a text
// cannot be used for another purpose.
type Sealer struct{ aead cipher.AEAD }

// NewSealer returns a Sealer with a key of 32 random bytes.
func NewSealer(key []byte) (Sealer, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return Sealer{}, fmt.Errorf("sealing key: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return Sealer{}, fmt.Errorf("sealing key: %w", err)
	}
	return Sealer{aead: aead}, nil
}

// Seal returns text in a form that only Open can read, safe in a cookie.
func (s Sealer) Seal(purpose, text string) string {
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, []byte(text), []byte(purpose))) //nolint:gosec // the cipher adds a random nonce
}

// Open returns the text that Seal was given for the same purpose; it returns
// apperr.Invalid for anything else.
func (s Sealer) Open(purpose, sealed string) (string, error) {
	b, err := base64.RawURLEncoding.DecodeString(sealed)
	if err == nil {
		b, err = s.aead.Open(nil, nil, b, []byte(purpose))
	}
	if err != nil {
		return "", apperr.Wrap(apperr.Invalid, err, "This value was not issued by this server.")
	}
	return string(b), nil
}
