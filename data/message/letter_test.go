package message

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// TestLetter parses the HTML of an e-mail: what people write is text, and links lead to pages.
func TestLetter(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 22, 4, 5, 0, time.UTC)
	const hostile = `"><script>alert('x')</script>&amp;`
	letter := letterOf(Message{
		Level: Error, Title: hostile, Text: hostile, URL: "https://flowforge.example/executions/1?a=b&c=\"d\"",
		Facts:    []Fact{{Name: hostile, Value: hostile}},
		Entries:  []Entry{{Title: hostile, URL: "javascript:alert(1)", Level: Warning, At: at}, {Title: "digits.train", URL: "http://127.0.0.1:8080/2", At: at}},
		Settings: "https://flowforge.example/account",
	})
	elements, links, texts := parsed(t, letter)
	require.Zero(t, elements["script"])
	require.Equal(t, 5, texts[hostile], letter)
	require.Equal(t, []string{"#", "http://127.0.0.1:8080/2", `https://flowforge.example/executions/1?a=b&c="d"`, "https://flowforge.example/account"}, links)
	require.Contains(t, letter, "border-left:4px solid #b91c1c")
	require.Equal(t, 2, texts["29 Nov 2026, 22:04 UTC"])

	own := letterOf(Message{Level: Info, Title: "Title", URL: "https://flowforge.example/1", Custom: &Custom{HTML: "<p>Our <b>own</b> text</p>"}})
	elements, links, texts = parsed(t, own)
	require.Equal(t, 1, elements["b"])
	require.Empty(t, links)
	require.Zero(t, texts["Title"], "a message of people replaces the content")
}

// parsed returns how often each element and each text occurs, and the targets of links.
func parsed(t *testing.T, text string) (elements map[string]int, links []string, texts map[string]int) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	require.NoError(t, err)
	elements, texts = map[string]int{}, map[string]int{}
	for n := range root.Descendants() {
		switch n.Type {
		case html.ElementNode:
			elements[n.Data]++
			for _, a := range n.Attr {
				if n.Data == "a" && a.Key == "href" {
					links = append(links, a.Val)
				}
			}
		case html.TextNode:
			texts[n.Data]++
		}
	}
	return elements, links, texts
}
