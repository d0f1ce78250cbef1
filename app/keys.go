package app

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/secret"
)

// sharedKeys returns the key files that servers on one database share: every server must
// verify and decrypt what another one signs and encrypts.
func sharedKeys() []string {
	return []string{"task-tokens", "api-keys", "session-block", secretStoreKey}
}

// InitSecrets creates the missing shared keys in a folder and returns their names.
func InitSecrets(dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of keys: %w", err)
	}
	for _, name := range sharedKeys() {
		if _, err := auth.LoadSecret(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return sharedKeys(), nil
}

// secretsDir returns the folder of the keys; a configured folder must exist.
func secretsDir(cfg Config, root string) (string, error) {
	if cfg.SecretsDir == "" {
		return filepath.Join(root, "secrets"), nil
	}
	dir, err := filepath.Abs(cfg.SecretsDir)
	if err != nil {
		return "", fmt.Errorf("FLOWFORGE_SECRETS_DIR: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("FLOWFORGE_SECRETS_DIR %s is not a folder: run `flowforge secrets init %s` to create it with its keys", dir, dir)
	}
	return dir, nil
}

// keyFiles are the files of the keys of this server.
type keyFiles struct {
	paths      paths
	configured bool // their folder is FLOWFORGE_SECRETS_DIR, so that keys may be missing
}

// load reads a key and creates it if it is missing and the folder is writable.
func (k keyFiles) load(name string) (string, error) {
	text, err := auth.LoadSecret(k.paths.secret(name))
	if err == nil {
		return text, nil
	}
	if _, missing := os.Stat(k.paths.secret(name)); k.configured && errors.Is(missing, os.ErrNotExist) {
		return "", fmt.Errorf("the key %s is missing in FLOWFORGE_SECRETS_DIR and cannot be created there: run `flowforge secrets init` to create all keys in a folder of your choice: %w",
			k.paths.secret(name), err)
	}
	return "", err
}

// instanceName returns the name of this server, unique on the database.
func instanceName(cfg Config, paths paths) (string, error) {
	if cfg.Instance != "" {
		return cfg.Instance, nil
	}
	text, err := auth.LoadSecret(paths.join("secrets", "instance"))
	if err != nil {
		return "", err
	}
	return text[:16], nil
}

// read returns the secret with this name, which is created at the first start.
func (k keyFiles) read(name string) ([]byte, error) {
	text, err := k.load(name)
	if err != nil {
		return nil, err
	}
	b, err := hex.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", name, err)
	}
	return b, nil
}

// keyring reads the current key, which it creates if it does not exist, and the older
// ones.
func (k keyFiles) keyring() (secret.Keyring, error) {
	current, err := k.read(secretStoreKey)
	if err != nil {
		return secret.Keyring{}, err
	}
	paths, err := filepath.Glob(k.paths.secret(secretStoreKey) + ".*")
	if err != nil {
		return secret.Keyring{}, fmt.Errorf("older keys of secrets: %w", err)
	}
	slices.Sort(paths)
	var older [][]byte
	for _, path := range paths {
		key, err := k.read(secretStoreKey + strings.TrimPrefix(path, k.paths.secret(secretStoreKey)))
		if err != nil {
			return secret.Keyring{}, err
		}
		older = append(older, key)
	}
	return secret.NewKeyring(current, older...)
}
