package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flowforge/flowforge/access/auth"
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

// loadSecret reads a key and creates it if it is missing and the folder is writable.
func (a *App) loadSecret(name string) (string, error) {
	text, err := auth.LoadSecret(a.paths.secret(name))
	if err == nil {
		return text, nil
	}
	if _, missing := os.Stat(a.paths.secret(name)); a.cfg.SecretsDir != "" && errors.Is(missing, os.ErrNotExist) {
		return "", fmt.Errorf("the key %s is missing in FLOWFORGE_SECRETS_DIR and cannot be created there: run `flowforge secrets init` to create all keys in a folder of your choice: %w",
			a.paths.secret(name), err)
	}
	return "", err
}

// instance returns the name of this server, unique on the database.
func (a *App) instance() (string, error) {
	if a.cfg.Instance != "" {
		return a.cfg.Instance, nil
	}
	text, err := auth.LoadSecret(a.paths.join("secrets", "instance"))
	if err != nil {
		return "", err
	}
	return text[:16], nil
}
