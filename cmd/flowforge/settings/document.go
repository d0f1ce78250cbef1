package settings

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// preamble and epilogue are the text of docs/settings.md around its tables.
const (
	preamble = `# Settings

<!-- Generated from cmd/flowforge/settings: go test ./cmd/flowforge/settings -update -->

All settings are environment variables, and all are optional. An empty variable uses its default.
The server does not start with invalid settings. It reads all variables first and reports all
invalid values at once; then it checks the settings together.
`
	epilogue = `
## Tokens and secrets

The server writes an API token of the local administrator to ` + "`$FLOWFORGE_DATA_DIR/admin.token`" + `. Send
it as ` + "`Authorization: Bearer`" + `. With a sign-in provider (OIDC), the server accepts this token on the
socket in the data directory only, for example from ` + "`flowforge login`" + ` on the server's machine. Over
HTTP, use an API key instead.

Inputs can name secrets. Each project has its own secrets (*Secrets* in the navigation). The
database stores them encrypted; the key is a file outside the database. An administrator can also
provide secrets as environment variables ` + "`FLOWFORGE_SECRET_NAME`" + `, or as files
` + "`$FLOWFORGE_DATA_DIR/secrets.d/NAME`" + ` with mode 0600. Only the attempt that needs a secret receives
it. No row, log or page shows it. Secrets can also refer to external secret managers such as Vault
(` + "`docs/secrets.md`" + `).
`
)

// Document is docs/settings.md.
func Document() string {
	var b strings.Builder
	b.WriteString(preamble)
	section := ""
	for _, v := range variablesOf(reflect.ValueOf(documented{})) {
		if v.section != section {
			section = v.section
			fmt.Fprintf(&b, "\n## %s\n%s\n| Variable | Default | Meaning |\n|---|---|---|\n", section, notes()[section])
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", v.name, v.fallback(), quoted(v.field.Tag.Get("doc")))
	}
	b.WriteString(epilogue)
	return b.String()
}

// documented are all settings: of the server and of the command line.
type documented struct {
	Settings
	Client Client `title:"Command line"`
}

// notes are paragraphs above the tables of sections.
func notes() map[string]string {
	return map[string]string{
		"Several servers": "\n`docs/kubernetes.md` describes an installation of several servers.\n",
		"Certificates":    "\nAll are paths of PEM files. Without them, the addresses serve plain HTTP.\n",
		"Pods":            "\nThese apply with `FLOWFORGE_LAUNCHER=kube`; `docs/kubernetes.md` describes them.\n",
		"Command line":    "\nThe command line reads these and `FLOWFORGE_DATA_DIR`.\n",
	}
}

// fallback is the default for the document.
func (v variable) fallback() string {
	shown := v.field.Tag.Get("shown")
	constant := v.field.Tag.Get("envDefault")
	switch {
	case shown != "":
		return quoted(shown)
	case constant != "":
		return "`" + constant + "`"
	}
	return "none"
}

// code matches what documents show as code: names of variables, addresses, documents, and
// text in quotation marks.
var code = regexp.MustCompile(`“[^”]+”|\b(?:FLOWFORGE|AWS|OTEL)_[A-Z0-9_]*…?|\b[a-z0-9]+://[^\s,;]*|\bdocs/[a-z]+\.md`)

func quoted(text string) string {
	return code.ReplaceAllStringFunc(text, func(word string) string {
		return "`" + strings.Trim(word, "“”") + "`"
	})
}
