package connection

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/typeregistry"
)

// Field is one field of a connection.
type Field struct {
	Name     string `json:"name"`
	Label    string `json:"label,omitempty"`
	Help     string `json:"help,omitempty"`
	Type     string `json:"type"` // a type expression: String, Integer, Float, Boolean or Enum; String for a secret
	Secret   bool   `json:"secret,omitempty"`
	Required bool   `json:"required,omitempty"`
	Default  any    `json:"default,omitempty"`
	For      string `json:"for,omitempty"` // the authentication that reads the field; empty: all
}

// Title is the label of a field in forms.
func (f Field) Title() string {
	if f.Label != "" {
		return f.Label
	}
	return strings.ToUpper(f.Name[:1]) + strings.ReplaceAll(f.Name[1:], "_", " ")
}

// Kind is a kind of connection, with its fields.
type Kind struct {
	Name    string
	Label   string
	Summary string
	Fields  []Field // none for Custom, whose connections declare their own
	Tested  bool    // Test can try it
	Channel bool    // it receives messages
}

// Names of kinds.
const (
	Postgres    = "postgres"
	ClickHouse  = "clickhouse"
	S3          = "s3"
	HTTP        = "http"
	GRPC        = "grpc"
	HuggingFace = "huggingface"
	Custom      = "custom"
)

// Values of the field authentication of HTTP.
const (
	NoAuthentication = "none"
	Bearer           = "bearer"
	Basic            = "basic"
	OAuth2           = "oauth2" // client credentials, RFC 6749 section 4.4
)

// Kinds returns all kinds in display order.
func Kinds() []Kind {
	kinds := []Kind{postgresKind(), clickHouseKind(), s3Kind(), httpKind(), grpcKind(), huggingFaceKind()}
	return append(append(kinds, channelKinds()...), Kind{Name: Custom, Label: "Custom", Summary: "Fields that you declare."})
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

func postgresKind() Kind {
	return Kind{Name: Postgres, Label: "PostgreSQL", Summary: "A PostgreSQL database.", Tested: true, Fields: []Field{
		{Name: "host", Type: "String(max_length=253)", Required: true, Help: "Name or address of the server, such as db.example.com."},
		{Name: "port", Type: "Integer(min=1, max=65535)", Default: 5432},
		{Name: "database", Type: "String(max_length=200)", Required: true},
		{Name: "user", Type: "String(max_length=200)", Required: true},
		{Name: "password", Type: "String", Secret: true},
		{Name: "sslmode", Label: "SSL mode", Type: `Enum(disable, prefer, require, "verify-full")`, Default: "require", Help: "“verify-full” also checks the server's certificate and name."},
	}}
}

func clickHouseKind() Kind {
	return Kind{Name: ClickHouse, Label: "ClickHouse", Summary: "A ClickHouse database, through its HTTP interface.", Tested: true, Fields: []Field{
		{Name: "endpoint", Type: "String(max_length=500)", Required: true, Help: "Address of the HTTP interface, such as https://clickhouse.example.com:8443."},
		{Name: "database", Type: "String(max_length=200)", Default: "default"},
		{Name: "user", Type: "String(max_length=200)", Default: "default"},
		{Name: "password", Type: "String", Secret: true},
	}}
}

func s3Kind() Kind {
	return Kind{Name: S3, Label: "S3", Summary: "A bucket of Amazon S3 or of a compatible store.", Tested: true, Fields: []Field{
		{Name: "bucket", Type: "String(max_length=200)", Required: true},
		{Name: "prefix", Type: "String(max_length=500)", Help: "Folder in the bucket that tasks use."},
		{Name: "region", Type: "String(max_length=60)", Default: "us-east-1"},
		{Name: "endpoint", Type: "String(max_length=500)", Help: "Address of a store other than Amazon S3, such as https://minio.example.com:9000."},
		{Name: "access_key_id", Label: "Access key ID", Type: "String(max_length=200)", Help: "Leave empty for a public bucket."},
		{Name: "secret_access_key", Type: "String", Secret: true},
		{Name: "session_token", Type: "String", Secret: true, Help: "Only for temporary credentials."},
	}}
}

func httpKind() Kind {
	return Kind{Name: HTTP, Label: "HTTP", Summary: "An HTTP API.", Tested: true, Fields: []Field{
		{Name: "base_url", Label: "Base URL", Type: "String(max_length=2000)", Required: true, Help: "For example: https://api.example.com/v1."},
		{Name: "authentication", Type: `Enum("none": "None", "bearer": "Bearer token", "basic": "User name and password", "oauth2": "OAuth 2.0 client credentials")`, Default: NoAuthentication},
		{Name: "token", Type: "String", Secret: true, Help: "For a bearer token.", For: Bearer},
		{Name: "username", Label: "User name", Type: "String(max_length=200)", For: Basic},
		{Name: "password", Type: "String", Secret: true, For: Basic},
		{Name: "token_url", Label: "Token URL", Type: "String(max_length=2000)", Help: "Endpoint that issues access tokens, such as https://login.example.com/oauth2/token.", For: OAuth2},
		{Name: "client_id", Label: "Client ID", Type: "String(max_length=500)", For: OAuth2},
		{Name: "client_secret", Type: "String", Secret: true, For: OAuth2},
		{Name: "scope", Type: "String(max_length=1000)", Help: "Scopes, separated by spaces.", For: OAuth2},
		{Name: "audience", Type: "String(max_length=1000)", Help: "Only if the token endpoint requires it.", For: OAuth2},
		{Name: "test_path", Type: "String(max_length=500)", Help: "Path below the base URL. The connection test sends a GET request to it."},
	}}
}

func grpcKind() Kind {
	return Kind{Name: GRPC, Label: "gRPC", Summary: "A gRPC server.", Fields: []Field{
		{Name: "address", Type: "String(max_length=300)", Required: true, Help: "Host and port, such as api.example.com:443."},
		{Name: "security", Type: `Enum("tls": "TLS", "plaintext": "None")`, Default: "tls"},
		{Name: "ca_certificate", Label: "CA certificate", Type: "String(multiline=true, max_length=20000)", Help: "PEM certificates that sign the server's certificate. Leave empty to use those of the system."},
		{Name: "server_name", Label: "Server name", Type: "String(max_length=300)", Help: "Name in the server's certificate, if it is not the host."},
		{Name: "token", Type: "String", Secret: true, Help: "Sent in the metadata as a bearer token."},
	}}
}

func huggingFaceKind() Kind {
	return Kind{Name: HuggingFace, Label: "Hugging Face", Summary: "Models and datasets of the Hugging Face Hub.", Tested: true, Fields: []Field{
		{Name: "token", Type: "String", Secret: true, Required: true, Help: "An access token from your Hugging Face settings, such as hf_…"},
		{Name: "endpoint", Type: "String(max_length=500)", Default: "https://huggingface.co"},
	}}
}

// reserved are the names that tasks use for other values of a connection.
func reserved() []string { return []string{"kind", "url", "name", "fields"} }

// maxFields is the maximum number of fields of a custom connection.
const maxFields = 50

// checkDeclared returns what is wrong with the fields of a custom connection.
func checkDeclared(fields []Field) []apperr.Field {
	var problems []apperr.Field
	if len(fields) == 0 {
		problems = append(problems, apperr.Field{Path: "declared", Message: "Declare at least one field."})
	}
	if len(fields) > maxFields {
		problems = append(problems, apperr.Field{Path: "declared", Message: fmt.Sprintf("Declare at most %d fields.", maxFields)})
	}
	seen := map[string]bool{}
	for i, f := range fields {
		if message := f.check(seen); message != "" {
			problems = append(problems, apperr.Field{Path: fmt.Sprintf("declared[%d]", i), Message: message})
		}
		seen[f.Name] = true
	}
	return problems
}

func (f Field) check(seen map[string]bool) string {
	switch {
	case !fieldName.MatchString(f.Name):
		return fmt.Sprintf("%q is not a valid field name. Start with a lower-case letter; use lower-case letters, digits and _, at most 40 characters.", f.Name)
	case slices.Contains(reserved(), f.Name):
		return fmt.Sprintf("%q is reserved. Choose another name.", f.Name)
	case f.For != "":
		return f.Name + ": Only fields of kind http depend on the authentication."
	case seen[f.Name]:
		return fmt.Sprintf("%q is declared twice.", f.Name)
	}
	t, err := typeregistry.Builtin().Parse(f.Type)
	if err != nil {
		return f.Name + ": " + err.Error()
	}
	plain := []typeregistry.Kind{typeregistry.KindString, typeregistry.KindText, typeregistry.KindInteger, typeregistry.KindFloat, typeregistry.KindBoolean, typeregistry.KindEnum}
	switch {
	case f.Secret && t.Kind != typeregistry.KindString && t.Kind != typeregistry.KindText:
		return f.Name + ": a secret field has the type String or Text."
	case !slices.Contains(plain, t.Kind):
		return f.Name + ": use String, Text, Integer, Float, Boolean or Enum."
	case f.Secret && f.Default != nil:
		return f.Name + ": a secret field has no default."
	}
	if f.Default == nil {
		return ""
	}
	if problems := t.Check(f.Default, typeregistry.Env{}); len(problems) > 0 {
		return f.Name + ": the default: " + problems[0].Message
	}
	return ""
}

// schema is the schema of the visible fields.
func schema(fields []Field) (typeregistry.Schema, error) {
	var s typeregistry.Schema
	for _, f := range fields {
		if f.Secret {
			continue
		}
		t, err := typeregistry.Builtin().Parse(f.Type)
		if err != nil {
			return s, fmt.Errorf("type of the field %s: %w", f.Name, err)
		}
		s.Fields = append(s.Fields, typeregistry.Field{Name: f.Name, Type: t, Required: f.Required})
	}
	return s, nil
}

// checkTogether returns problems of fields that depend on each other. has reports whether a secret
// field has a value.
func checkTogether(kind string, settings map[string]any, has func(string) bool) []apperr.Field {
	var problems []apperr.Field
	add := func(path, message string) { problems = append(problems, apperr.Field{Path: path, Message: message}) }
	text := func(name string) string { value, _ := settings[name].(string); return value }
	for _, name := range map[string][]string{HTTP: {"base_url", "token_url"}, HuggingFace: {"endpoint"}, S3: {"endpoint"}, ClickHouse: {"endpoint"}}[kind] {
		if text(name) != "" && !WebAddress(text(name)) {
			add(name, "Enter an http or https address without a user name, query or fragment, such as https://example.com.")
		}
	}
	switch kind {
	case HTTP:
		switch {
		case text("authentication") == Bearer && !has("token"):
			add("token", "Enter the token, or choose another authentication.")
		case text("authentication") == Basic && text("username") == "":
			add("username", "Enter the user name, or choose another authentication.")
		case text("authentication") == Basic && !has("password"):
			add("password", "Enter the password, or choose another authentication.")
		}
		if text("authentication") == OAuth2 {
			for _, name := range []string{"token_url", "client_id"} {
				if text(name) == "" {
					add(name, "Enter a value, or choose another authentication.")
				}
			}
			if !has("client_secret") {
				add("client_secret", "Enter the client secret, or choose another authentication.")
			}
		}
		if path := text("test_path"); strings.Contains(path, "://") || strings.HasPrefix(path, "//") {
			add("test_path", "Enter a path below the base URL, such as /health.")
		}
	case S3:
		if text("access_key_id") != "" && !has("secret_access_key") {
			add("secret_access_key", "Enter the secret access key for this access key ID.")
		}
		if text("access_key_id") == "" && has("secret_access_key") {
			add("access_key_id", "Enter the access key ID for this secret access key.")
		}
	case GRPC:
		problems = append(problems, checkAddress(text("address"))...)
	case Postgres:
		if strings.ContainsAny(text("host"), "/@?# ,:") && !strings.HasPrefix(text("host"), "[") && strings.Count(text("host"), ":") < 2 {
			add("host", "Enter the name or address of one server, without a port.")
		}
	}
	return problems
}

// checkAddress returns what is wrong with the address of a gRPC server.
func checkAddress(address string) []apperr.Field {
	host, port, err := net.SplitHostPort(address)
	if address == "" || err == nil && host != "" && port != "" && !strings.ContainsAny(address, "/@ ") {
		return nil
	}
	return []apperr.Field{{Path: "address", Message: "Enter the address as host:port, without a scheme."}}
}

// host is the server to which a connection with some settings leads, with its scheme and port. It is
// the same for all custom connections: only tasks know their server.
func host(kind string, settings map[string]any) string {
	address := Connection{Settings: settings}
	name := map[string]string{HTTP: "base_url", HuggingFace: "endpoint", S3: "endpoint", ClickHouse: "endpoint", message.Webhook: "url", message.PagerDuty: "endpoint"}[kind]
	switch {
	case kind == GRPC:
		return strings.ToLower(address.Text("address"))
	case kind == Postgres || kind == message.Email:
		return strings.ToLower(net.JoinHostPort(strings.Trim(address.Text("host"), "[]"), address.Text("port")))
	case name == "":
		return ""
	case kind == S3 && address.Text(name) == "":
		return "Amazon S3"
	}
	if token := address.Text("token_url"); kind == HTTP && token != "" { // it gets the client secret
		return ServerOf(address.Text(name)) + " and " + ServerOf(token)
	}
	return ServerOf(address.Text(name))
}

// ServerOf is the scheme, host and port of an address.
func ServerOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return strings.ToLower(u.Scheme + "://" + net.JoinHostPort(u.Hostname(), port))
}

// WebAddress reports whether text is an http or https address without a user name, query or fragment.
func WebAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}
