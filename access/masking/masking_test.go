package masking_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/masking"
)

const secret = `s3cr3t/+"<&>π p@ss`

func TestFormsOfASecretAreMasked(t *testing.T) {
	t.Parallel()
	m := masking.New(secret)
	quoted, err := json.Marshal(map[string]string{"key": secret})
	require.NoError(t, err)
	nested, err := json.Marshal(string(quoted))
	require.NoError(t, err)
	for name, text := range map[string]string{
		"plain": "the key is " + secret + ".", "twice": secret + secret, "query": "?key=" + url.QueryEscape(secret),
		"path": "/v1/" + url.PathEscape(secret), "address": "postgresql://" + url.UserPassword("u", secret).String() + "@host/db", "form": url.Values{"key": {secret}}.Encode(),
		"hex": hex.EncodeToString([]byte(secret)), "HEX": fmt.Sprintf("%X", secret), "json": string(quoted), "json in json": string(nested),
		"lower escapes": strings.NewReplacer("%2F", "%2f", "%2B", "%2b", "%3C", "%3c", "%3E", "%3e", "%CF", "%cf").Replace(url.QueryEscape(secret)),
	} {
		masked := m.Text(text)
		require.Contains(t, masked, masking.Mark, name)
		require.NotContains(t, masked, "s3cr3t", name)
		require.NotContains(t, masked, "p@ss", name)
	}
	require.Equal(t, "nothing here", m.Text("nothing here"))
}

// TestBase64IsMaskedWhereverItStands: the same bytes look different at each of
// three offsets, as in "user:password" of an Authorization header.
func TestBase64IsMaskedWhereverItStands(t *testing.T) {
	t.Parallel()
	m := masking.New(secret)
	for before := range 7 {
		for after := range 4 {
			text := strings.Repeat("x", before) + secret + strings.Repeat("y", after)
			for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
				masked := m.Text("Basic " + encoding.EncodeToString([]byte(text)))
				require.Contains(t, masked, masking.Mark, "%d %d", before, after)
				rest := strings.Trim(strings.ReplaceAll(strings.TrimPrefix(masked, "Basic "), masking.Mark, ""), "=")
				require.LessOrEqual(t, len(rest), 4*(before+after)/3+6, "%d %d %s", before, after, masked)
			}
		}
	}
}

func TestLinesAndLongValues(t *testing.T) {
	t.Parallel()
	pem := "-----BEGIN KEY-----\nMIIBVwIBADANBgkqhkiG9w0\nAQEFAASCAT8wggE7AgEAAkEA\n-----END KEY-----\n"
	m := masking.New(pem)
	require.Equal(t, masking.Mark, m.Text("MIIBVwIBADANBgkqhkiG9w0"))
	require.Equal(t, "x "+masking.Mark, m.Text("x AQEFAASCAT8wggE7AgEAAkEA"))

	var text strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&text, "%d.", i*i)
	}
	long := text.String()
	m = masking.New(long)
	require.Less(t, m.Longest(), 4096)
	require.Empty(t, strings.ReplaceAll(m.Text(long), masking.Mark, ""))
}

func TestWhatIsTooShortIsNoSecret(t *testing.T) {
	t.Parallel()
	for _, m := range []*masking.Masker{nil, {}, masking.New(), masking.New("", "abc")} {
		require.True(t, m.Empty())
		require.Equal(t, "abc abc", m.Text("abc abc"))
		require.Zero(t, m.Longest())
		send, hold := m.Cut("abc")
		require.Equal(t, "abc", send+hold)
	}
}

// TestCutHidesWhatIsSplit: wherever a stream is cut, no part of a secret leaves.
func TestCutHidesWhatIsSplit(t *testing.T) {
	t.Parallel()
	m := masking.New("correct-horse-battery", "correct")
	whole := "begin correct-horse-battery correct-horse-battery middle correct end correct-horse"
	for first := range len(whole) {
		for _, second := range []int{first, (first + len(whole)) / 2, len(whole)} {
			var sent strings.Builder
			hold := ""
			for _, piece := range []string{whole[:first], whole[first:second]} {
				send, kept := m.Cut(hold + piece)
				sent.WriteString(send)
				hold = kept
			}
			sent.WriteString(m.Text(hold + whole[second:]))
			require.Equal(t, m.Text(whole), sent.String(), "%d %d", first, second)
		}
	}
}

// FuzzCut: pieces give the same as the whole.
func FuzzCut(f *testing.F) {
	f.Add("aaaa-bbbb", "x aaaa-bbbb aaaa-bbb", 7)
	f.Fuzz(func(t *testing.T, value, text string, at int) {
		m := masking.New(value)
		if at < 0 || at > len(text) || strings.Contains(value, "*") || strings.Contains(text, "*") {
			return
		}
		send, hold := m.Cut(text[:at])
		got := send + m.Text(hold+text[at:])
		if value != "" && len(value) >= masking.MinLength && strings.Contains(got, value) {
			t.Fatalf("%q is left of %q in %q", value, text, got)
		}
	})
}
