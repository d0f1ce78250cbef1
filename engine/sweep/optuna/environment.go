package optuna

import "strings"

// environment returns what programs of other users get of the environment of the server: nothing
// that may be a secret of it. Proxies and pip may need their own.
func environment(all []string) []string {
	out := []string{}
	for _, entry := range all {
		name, _, _ := strings.Cut(entry, "=")
		switch strings.ToUpper(name) {
		case "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY":
			out = append(out, entry)
			continue
		}
		switch name {
		case "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR":
			out = append(out, entry)
			continue
		}
		if strings.HasPrefix(name, "PIP_") || strings.HasPrefix(name, "SSL_CERT_") {
			out = append(out, entry)
		}
	}
	return out
}
