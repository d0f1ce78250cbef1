package optuna

import "strings"

// environment returns the part of the server's environment that programs of other users receive.
// It contains none of the server's secrets. Proxies and pip may need their own variables.
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
