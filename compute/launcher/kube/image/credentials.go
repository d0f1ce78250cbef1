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

// keychain finds credentials in the Docker config.json at this path. The file is read for
// each lookup because it may be rotated. Credential helpers are not run.
type keychain string

// dockerConfig is the part of the file that is used.
type dockerConfig struct {
	Auths map[string]authn.AuthConfig `json:"auths"`
}

// Resolve returns the credentials of the longest matching entry, or none.
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

// parseDockerConfig reads a config.json; in the result, entries have a host and path
// without a scheme.
func parseDockerConfig(data []byte) (dockerConfig, error) {
	var config dockerConfig
	if err := json.Unmarshal(data, &config); err != nil {
		return config, fmt.Errorf("credentials of registries: the file is not a Docker config.json")
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

// CheckCredentials reports whether path is a valid credentials file.
func CheckCredentials(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("credentials of registries: %w", err)
	}
	_, err = parseDockerConfig(data)
	return err
}
