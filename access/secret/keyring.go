package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// Keyring seals values with its first key and opens what any of its keys sealed.
type Keyring struct {
	current string
	keys    map[string]cipher.AEAD
}

// NewKeyring returns a Keyring that seals with current. Keys have 32 bytes.
func NewKeyring(current []byte, older ...[]byte) (Keyring, error) {
	k := Keyring{keys: map[string]cipher.AEAD{}}
	for i, key := range append([][]byte{current}, older...) {
		if len(key) != 32 {
			return Keyring{}, fmt.Errorf("a key of the secret store has %d bytes, not 32", len(key))
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return Keyring{}, fmt.Errorf("key of the secret store: %w", err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return Keyring{}, fmt.Errorf("key of the secret store: %w", err)
		}
		id := keyID(key)
		k.keys[id] = aead
		if i == 0 {
			k.current = id
		}
	}
	return k, nil
}

// LogValue keeps the keys out of logs.
func (k Keyring) LogValue() slog.Value { return slog.StringValue("keyring " + k.current) }

// keyID identifies a key without revealing it.
func keyID(key []byte) string {
	sum := sha256.Sum256(append([]byte("flowforge secret key id\n"), key...))
	return hex.EncodeToString(sum[:8])
}

// ErrKeyMissing means that the key that sealed a value is not available.
var ErrKeyMissing = errors.New("the key that sealed it is not available")

// binding is the context of a sealed value: it cannot be opened in another one.
func binding(keyID string, p Owner, name string) []byte {
	return []byte(strings.Join([]string{keyID, p.TenantID.String(), p.ProjectID.String(), name}, "\x00"))
}

// Seal returns the nonce and the sealed value.
func (k Keyring) Seal(p Owner, name, value string) []byte {
	aead := k.keys[k.current]
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(value)+aead.Overhead())
	_, _ = rand.Read(nonce) // never fails since Go 1.24
	return aead.Seal(nonce, nonce, []byte(value), binding(k.current, p, name))
}

// Open returns the value that was sealed for this project and name.
func (k Keyring) Open(keyID string, p Owner, name string, sealed []byte) (string, error) {
	aead, ok := k.keys[keyID]
	if !ok {
		return "", fmt.Errorf("secret %s of project %s, key %s: %w", name, p.ProjectID, keyID, ErrKeyMissing)
	}
	if len(sealed) < aead.NonceSize() {
		return "", fmt.Errorf("secret %s of project %s is truncated", name, p.ProjectID)
	}
	value, err := aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():], binding(keyID, p, name))
	if err != nil {
		return "", fmt.Errorf("secret %s of project %s: %w", name, p.ProjectID, err)
	}
	return string(value), nil
}

// Current identifies the key that seals.
func (k Keyring) Current() string { return k.current }
