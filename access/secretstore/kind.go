package secretstore

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/apperr"
)

// Names of kinds.
const (
	Vault       = "vault" // HashiCorp Vault or OpenBao, KV version 2
	AWS         = "aws"   // AWS Secrets Manager
	GCP         = "gcp"   // Google Secret Manager
	File        = "file"  // a folder of the server
	Environment = "env"   // environment variables of the server
)

// Values of the field authentication.
const (
	ByToken      = "token"
	ByAppRole    = "approle"
	ByKubernetes = "kubernetes"
	ByServer     = "server" // the identity of the machine or pod
	ByKeys       = "keys"
	ByAccount    = "service_account"
)

// Fields that every kind has.
const (
	fieldPrefix   = "prefix"
	fieldProjects = "projects"
)

// AllProjects allows a store to every project.
const AllProjects = "*"

// namespaceTag is replaced by the namespace of the project in the prefix of paths.
const namespaceTag = "{namespace}"

// Kind is a kind of store, with its fields.
type Kind struct {
	Name    string
	Label   string
	Summary string
	Fields  []connection.Field
	PathIs  string // what a path of the store is, for people
}

// Kinds returns all kinds in display order.
func Kinds() []Kind {
	kinds := []Kind{vaultKind(), awsKind(), gcpKind(), {
		Name: File, Label: "Files", Summary: "Files in a folder of the server. Links that lead out of the folder are not followed.", PathIs: "the path of a file in the folder",
		Fields: []connection.Field{{Name: "directory", Label: "Folder", Type: "String(max_length=500)", Required: true, Help: "Absolute path on the server, such as /run/secrets/flowforge."}},
	}, {
		Name: Environment, Label: "Environment", Summary: "Environment variables of the server. A change takes effect at the next start of the server.", PathIs: "the variable's name without the prefix",
		Fields: []connection.Field{{Name: "variables", Label: "Prefix of the variables", Type: "String(max_length=100)", Required: true, Help: "At least 3 characters, such as TEAM_. Other variables cannot be read."}},
	}}
	for i := range kinds {
		kinds[i].Fields = append(kinds[i].Fields,
			connection.Field{Name: fieldPrefix, Label: "Allowed path prefix", Type: "String(max_length=500)",
				Help: "Secrets can only refer to paths that begin with it. {namespace} means the namespace of the project, so that projects cannot read each other's secrets. Empty allows every path."},
			connection.Field{Name: fieldProjects, Label: "Projects", Type: "String(multiline=true, max_length=20000)", Required: true,
				Help: "Namespaces of the projects that may use the store, one per line. * allows every project."})
	}
	return kinds
}

// KindNamed returns a kind.
func KindNamed(name string) (Kind, bool) {
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

func kindNames() []string {
	var list []string
	for _, k := range Kinds() {
		list = append(list, k.Name)
	}
	return list
}

func vaultKind() Kind {
	return Kind{Name: Vault, Label: "Vault", Summary: "HashiCorp Vault or OpenBao: a KV version 2 engine.", PathIs: "the path in the engine, without data/", Fields: []connection.Field{
		{Name: "address", Type: "String(max_length=500)", Required: true, Help: "For example: https://vault.example.com:8200. The server does not follow redirects."},
		{Name: "mount", Type: "String(max_length=200)", Default: "secret", Help: "Where the KV version 2 engine is mounted."},
		{Name: "vault_namespace", Label: "Namespace of Vault", Type: "String(max_length=200)"},
		{Name: "authentication", Type: `Enum("approle": "AppRole", "kubernetes": "Kubernetes", "token": "Token")`, Default: ByAppRole},
		{Name: "auth_mount", Label: "Mount of the authentication", Type: "String(max_length=200)", Help: "Leave empty to use approle or kubernetes."},
		{Name: "role_id", Label: "Role ID", Type: "String(max_length=200)", For: ByAppRole},
		{Name: "secret_id", Label: "Secret ID", Type: "String", Secret: true, For: ByAppRole},
		{Name: "role", Type: "String(max_length=200)", Help: "Role of the Kubernetes authentication.", For: ByKubernetes},
		{Name: "token_file", Label: "Token file", Type: "String(max_length=500)", Default: "/var/run/secrets/kubernetes.io/serviceaccount/token", Help: "File on the server with the token of its service account.", For: ByKubernetes},
		{Name: "token", Type: "String", Secret: true, Help: "FlowForge renews it as long as it is renewable.", For: ByToken},
		{Name: "ca_certificate", Label: "CA certificate", Type: "String(multiline=true, max_length=20000)", Help: "PEM certificates to trust for this server, in addition to those of the system."},
	}}
}

func awsKind() Kind {
	return Kind{Name: AWS, Label: "AWS Secrets Manager", Summary: "AWS Secrets Manager in one region.", PathIs: "the name or ARN of the secret", Fields: []connection.Field{
		{Name: "region", Type: "String(max_length=60)", Required: true, Help: "For example: eu-central-1."},
		{Name: "endpoint", Type: "String(max_length=500)", Help: "Only for an endpoint other than the region's default."},
		{Name: "authentication", Type: `Enum("server": "Identity of the server", "keys": "Access keys")`, Default: ByServer, Help: "The identity comes from AWS_* variables, a web identity or the role of the machine."},
		{Name: "access_key_id", Label: "Access key ID", Type: "String(max_length=200)", For: ByKeys},
		{Name: "secret_access_key", Type: "String", Secret: true, For: ByKeys},
		{Name: "session_token", Type: "String", Secret: true, Help: "Only for temporary credentials.", For: ByKeys},
	}}
}

func gcpKind() Kind {
	return Kind{Name: GCP, Label: "Google Secret Manager", Summary: "Google Secret Manager in one project of Google Cloud.", PathIs: "the name of the secret", Fields: []connection.Field{
		{Name: "project", Label: "Google Cloud project", Type: "String(max_length=100)", Required: true, Help: "ID or number of the project."},
		{Name: "endpoint", Type: "String(max_length=500)", Default: "https://secretmanager.googleapis.com"},
		{Name: "authentication", Type: `Enum("server": "Identity of the server", "service_account": "Key of a service account")`, Default: ByServer, Help: "The identity is the service account of the machine or pod."},
		{Name: "credentials", Label: "Service account key", Type: "Text", Secret: true, Help: "The JSON file of the key.", For: ByAccount},
	}}
}

var (
	namespacePattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	variablePattern  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{2,99}$`)
	regionPattern    = regexp.MustCompile(`^[a-z0-9-]{1,60}$`)
	mountPattern     = regexp.MustCompile(`^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*$`)
	projectPattern   = regexp.MustCompile(`^[a-z0-9][a-z0-9.:-]{0,99}$`)
)

// checkTogether returns what is wrong with the checked values of a kind. private are folders that a
// store of files may not read.
func checkTogether(kind string, v connection.Values, private []string) []apperr.Field {
	var problems []apperr.Field
	add := func(name, message string) {
		problems = append(problems, apperr.Field{Path: "values." + name, Message: message})
	}
	text := func(name string) string { value, _ := v.Settings[name].(string); return value }
	needs := func(authentication string, names ...string) {
		for _, name := range names {
			if text("authentication") == authentication && text(name) == "" && v.Secrets[name] == "" {
				add(name, "Enter a value, or choose another authentication.")
			}
		}
	}
	for _, name := range []string{"address", "endpoint"} {
		if text(name) != "" && !connection.WebAddress(text(name)) {
			add(name, "Enter an http or https address without a user name, query or fragment, such as https://example.com.")
		}
	}
	for _, name := range []string{"mount", "auth_mount"} {
		if text(name) != "" && !mountPattern.MatchString(text(name)) {
			add(name, "Use letters, digits, “_” and “-”, and “/” between parts.")
		}
	}
	switch kind {
	case Vault:
		needs(ByAppRole, "role_id", "secret_id")
		needs(ByKubernetes, "role", "token_file")
		needs(ByToken, "token")
		if text("authentication") == ByKubernetes && forbidden(text("token_file"), private) {
			add("token_file", "FlowForge keeps its own data and keys there. Enter the file of the service account's token.")
		}
		if _, err := rootsOf(text("ca_certificate")); err != nil {
			add("ca_certificate", "Enter certificates in PEM format.")
		}
	case AWS:
		needs(ByKeys, "access_key_id", "secret_access_key")
		if !regionPattern.MatchString(text("region")) {
			add("region", "Enter the name of a region, such as eu-central-1.")
		}
	case GCP:
		needs(ByAccount, "credentials")
		if !projectPattern.MatchString(text("project")) {
			add("project", "Enter the ID or number of a project.")
		}
		if v.Secrets["credentials"] != "" {
			if _, err := accountOf(v.Secrets["credentials"]); err != nil {
				add("credentials", "Enter the JSON key of a service account: its type is service_account, and it has client_email and private_key.")
			}
		}
	case File:
		if forbidden(text("directory"), private) {
			add("directory", "Enter an absolute path. The folders of FlowForge's own data and keys, and those of devices and processes, cannot be read.")
		}
	case Environment:
		if !variablePattern.MatchString(text("variables")) || ownVariables(text("variables")) {
			add("variables", "Use at least 3 letters, digits and “_”. Variables of FlowForge itself cannot be read.")
		}
	}
	return problems
}

// ownVariables reports whether variables of FlowForge itself can begin with prefix.
func ownVariables(prefix string) bool {
	const own = "FLOWFORGE"
	n := min(len(prefix), len(own))
	return strings.EqualFold(prefix[:n], own[:n])
}

// forbidden reports whether a path of the server must not be read: it is not absolute, or it is or
// contains one of private, or is below one.
func forbidden(path string, private []string) bool {
	path = filepath.Clean(path)
	if !filepath.IsAbs(path) || path == "/" {
		return true
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return slices.ContainsFunc(append([]string{"/proc", "/sys", "/dev"}, private...), func(p string) bool {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			p = real
		}
		return p != "" && (below(path, p) || below(p, path))
	})
}

// below reports whether path is folder or in it.
func below(path, folder string) bool {
	rest, err := filepath.Rel(folder, path)
	return err == nil && (rest == "." || filepath.IsLocal(rest))
}

// host is the server that gets the credentials of a store.
func host(kind string, settings map[string]any) string {
	text := func(name string) string { value, _ := settings[name].(string); return value }
	switch kind {
	case Vault:
		return connection.ServerOf(text("address"))
	case AWS, GCP:
		if text("endpoint") != "" {
			return connection.ServerOf(text("endpoint"))
		}
		return kind
	}
	return ""
}
