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

// credentials are the tokens of servers that `flowforge login --token` stored, by
// the server's address.
type credentials struct {
	Servers map[string]credential `json:"servers"`
}

type credential struct {
	Token string `json:"token"`
	User  string `json:"user"`
}

// credentialsPath is a file that its owner alone can read.
func credentialsPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("no place for credentials: %w", err)
	}
	return filepath.Join(dir, "flowforge", "credentials.json"), nil
}

// loadCredentials returns what is stored; nothing when there is no file.
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
		return c, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return c, nil
}

// storeToken keeps the token of a server and returns the file it is in. The file
// is replaced as a whole, and is never readable by others.
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
	all.Servers[serverKey(server)] = one
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
