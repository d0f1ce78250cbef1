package masking_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/masking"
)

// TestWhatPythonPrintsIsMasked: the forms are what Python 3 prints of the secrets.
func TestWhatPythonPrintsIsMasked(t *testing.T) {
	t.Parallel()
	for secret, forms := range map[string]map[string]string{
		"p\u00e4/s \"w'\u00f6\\rd\" <&> \U0001f511 x\t\x7fend": {
			"quote":                           "p%C3%A4/s%20%22w%27%C3%B6%5Crd%22%20%3C%26%3E%20%F0%9F%94%91%20x%09%7Fend",
			"quote of all":                    "p%C3%A4%2Fs%20%22w%27%C3%B6%5Crd%22%20%3C%26%3E%20%F0%9F%94%91%20x%09%7Fend",
			"quote_plus":                      "p%C3%A4%2Fs+%22w%27%C3%B6%5Crd%22+%3C%26%3E+%F0%9F%94%91+x%09%7Fend",
			"quote in small letters":          "p%c3%a4/s%20%22w%27%c3%b6%5crd%22%20%3c%26%3e%20%f0%9f%94%91%20x%09%7fend",
			"json.dumps":                      "\"p\\u00e4/s \\\"w'\\u00f6\\\\rd\\\" <&> \\ud83d\\udd11 x\\t\\u007fend\"",
			"json.dumps twice":                "\"\\\"p\\\\u00e4/s \\\\\\\"w'\\\\u00f6\\\\\\\\rd\\\\\\\" <&> \\\\ud83d\\\\udd11 x\\\\t\\\\u007fend\\\"\"",
			"json.dumps without ensure_ascii": "\"p\u00e4/s \\\"w'\u00f6\\\\rd\\\" <&> \U0001f511 x\\t\x7fend\"",
			"repr":                            "'p\u00e4/s \"w\\'\u00f6\\\\rd\" <&> \U0001f511 x\\t\\x7fend'",
			"ascii":                           "'p\\xe4/s \"w\\'\\xf6\\\\rd\" <&> \\U0001f511 x\\t\\x7fend'",
			"repr of bytes":                   "b'p\\xc3\\xa4/s \"w\\'\\xc3\\xb6\\\\rd\" <&> \\xf0\\x9f\\x94\\x91 x\\t\\x7fend'",
			"repr of a dict":                  "{'key': 'p\u00e4/s \"w\\'\u00f6\\\\rd\" <&> \U0001f511 x\\t\\x7fend'}",
			"html.escape":                     "p\u00e4/s &quot;w&#x27;\u00f6\\rd&quot; &lt;&amp;&gt; \U0001f511 x\t\x7fend",
			"html.escape without quotes":      "p\u00e4/s \"w'\u00f6\\rd\" &lt;&amp;&gt; \U0001f511 x\t\x7fend",
		},
		"it's/a <key>": {
			"repr":          "\"it's/a <key>\"",
			"repr of bytes": "b\"it's/a <key>\"",
			"html.escape":   "it&#x27;s/a &lt;key&gt;",
			"markupsafe":    "it&#39;s/a &lt;key&gt;",
			"quote":         "it%27s/a%20%3Ckey%3E",
			"json.dumps":    "\"it's/a <key>\"",
		},
	} {
		m := masking.New(secret)
		for name, form := range forms {
			masked := m.Text("before " + form + " after")
			require.Regexp(t, `^before (b?\\?['"]|\{'key': ['"]|"\\")?\*\*\*(['"]\}?|\\""|\\"")? after$`, masked, name)
		}
	}
}
