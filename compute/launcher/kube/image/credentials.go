package image

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// keychain finds credentials in a Docker config.json, whose path it is. The file is read
// for each look-up, because it may be rotated. Helper programs are not run.
type keychain string

// dockerConfig is the part of the file that counts.
type dockerConfig struct {
	Auths map[string]authn.AuthConfig `json:"auths"`
}

// Resolve returns the credentials for what has the longest entry that fits, or none.
func (k keychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	if k == "" {
		return authn.Anonymous, nil
	}
	data, err := os.ReadFile(string(k))
	if err != nil {
		return nil, fmt.Errorf("credentials of registries: %w", err)
	}
	config, err := parseDockerConfig(data)
	if err != nil {
		return nil, err
	}
	for at := target.String(); at != "."; at = path.Dir(at) {
		if found, ok := config.Auths[at]; ok {
			return authn.FromConfig(found), nil
		}
	}
	return authn.Anonymous, nil
}

// parseDockerConfig reads a config.json; its entries are by host and path then, without
// a scheme.
func parseDockerConfig(data []byte) (dockerConfig, error) {
	var config dockerConfig
	if err := json.Unmarshal(data, &config); err != nil {
		return config, fmt.Errorf("credentials of registries: the file is no Docker config.json")
	}
	plain := map[string]authn.AuthConfig{}
	for at, found := range config.Auths {
		if _, rest, ok := strings.Cut(at, "://"); ok {
			at = rest
		}
		at = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(at, "/"), "/v1"), "/v2")
		if at == "docker.io" {
			at = name.DefaultRegistry
		}
		plain[at] = found
	}
	config.Auths = plain
	return config, nil
}

// CheckCredentials reports whether path holds what New takes as credentials.
func CheckCredentials(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("credentials of registries: %w", err)
	}
	_, err = parseDockerConfig(data)
	return err
}
