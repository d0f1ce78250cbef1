package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"fmt"

	"github.com/flowforge/flowforge/apperr"
)

// Sealer encrypts and authenticates small texts that leave the server's hands and
// come back: AES-256-GCM with a random nonce. What a text is for is sealed along,
// so that one cannot stand in for another.
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

// Seal returns text in a form that Open alone can read, safe in a cookie.
func (s Sealer) Seal(purpose, text string) string {
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, []byte(text), []byte(purpose))) //nolint:gosec // the cipher makes a random nonce by itself
}

// Open returns the text that Seal was given for the same purpose; it fails with
// apperr.Invalid for anything else.
func (s Sealer) Open(purpose, sealed string) (string, error) {
	b, err := base64.RawURLEncoding.DecodeString(sealed)
	if err == nil {
		b, err = s.aead.Open(nil, nil, b, []byte(purpose))
	}
	if err != nil {
		return "", apperr.Wrap(apperr.Invalid, err, "This was not made here.")
	}
	return string(b), nil
}
