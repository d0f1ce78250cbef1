package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// credentials are the tokens that `flowforge login --token` stored, keyed by server address.
type credentials struct {
	// Default is the server of the last login. Commands use it unless something else selects one.
	Default string                `json:"default,omitempty"`
	Servers map[string]credential `json:"servers"`
}

type credential struct {
	Token string `json:"token"`
	User  string `json:"user"`
}

// credentialsPath returns the path of the credentials file. Only its owner can read the file.
func credentialsPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for credentials: %w", err)
	}
	return filepath.Join(dir, "flowforge", "credentials.json"), nil
}

// loadCredentials returns the stored credentials; they are empty without a file.
func loadCredentials() (credentials, error) {
	c := credentials{Servers: map[string]credential{}}
	path, err := credentialsPath()
	if err != nil {
		return c, nil //nolint:nilerr // an account without a home has stored nothing
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("read credentials: %w", err)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("read credentials from %s: %w", path, err)
	}
	return c, nil
}

// storeToken stores the token of a server and returns the path of the file. It replaces the
// file in one step, and only the owner can ever read it.
func storeToken(server string, one credential) (string, error) {
	path, err := credentialsPath()
	if err != nil {
		return "", err
	}
	all, err := loadCredentials()
	if err != nil {
		return "", err
	}
	if all.Servers == nil {
		all.Servers = map[string]credential{}
	}
	all.Servers[serverKey(server)], all.Default = one, server
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return "", fmt.Errorf("write credentials: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("write credentials: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".credentials-*") // 0600
	if err != nil {
		return "", fmt.Errorf("write credentials: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, werr := tmp.Write(append(b, '\n'))
	if err := errors.Join(werr, tmp.Close(), os.Rename(tmp.Name(), path)); err != nil {
		return "", fmt.Errorf("write credentials: %w", err)
	}
	return path, nil
}

func serverKey(server string) string { return strings.ToLower(strings.TrimRight(server, "/")) }
