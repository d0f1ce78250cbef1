package markdown_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/markdown"
)

const hostile = "<script>alert(1)</script>\n\n[a](javascript:alert(1)) [b](/executions) ![c](https://other.example/pixel.png) ![d](javascript:alert(2))\n\n" +
	"<img src=x onerror=alert(1)>\n\n| a | b |\n|--:|---|\n| 1 | <b onclick=x>2</b> |\n\n- [x] done\n"

func TestNothingInMarkdownExecutesOrLoads(t *testing.T) {
	t.Parallel()
	whole, err := markdown.Render([]byte(hostile))
	require.NoError(t, err)
	pieces, nested, err := markdown.Split([]byte(hostile), func(string) bool { return false })
	require.NoError(t, err)
	require.Empty(t, nested)
	require.Len(t, pieces, 1)
	for _, html := range []string{whole, pieces[0].HTML} {
		for _, bad := range []string{"<script", "javascript:", "onerror", "onclick", "<img"} {
			require.NotContains(t, html, bad)
		}
		require.Contains(t, html, `href="/executions"`)
		require.Contains(t, html, "☑ done")
		require.Contains(t, html, `<a href="https://other.example/pixel.png" rel="nofollow noreferrer">c</a>`)
	}
	require.Contains(t, pieces[0].HTML, `role="region" aria-label="Table 1, scrollable"`)
	require.Contains(t, pieces[0].HTML, `<th scope="col"`)
}

func TestSplitKeepsReferencesAndLines(t *testing.T) {
	t.Parallel()
	text := "See [the docs][d].\n\n~~~ {table}\nview: a\n~~~\n\n> ```{table}\n> ```\n\n[d]: /docs\n"
	pieces, nested, err := markdown.Split([]byte(text), func(info string) bool { return strings.HasPrefix(info, "{") })
	require.NoError(t, err)
	require.Contains(t, pieces[0].HTML, `href="/docs"`, "a definition below a block is known above it")
	require.Equal(t, &markdown.Fence{Info: "{table}", Body: "view: a\n", Line: 3}, pieces[1].Fence)
	require.Len(t, nested, 1)
	require.Equal(t, 7, nested[0].Line)
}

func TestHeadingsSkipNoLevel(t *testing.T) {
	t.Parallel()
	pieces, _, err := markdown.Split([]byte("## a\n\n#### b\n\n> ##### c\n\n~~~ {x}\n~~~\n\n## d\n"), func(info string) bool { return info == "{x}" })
	require.NoError(t, err)
	for i, tags := range map[int][]string{0: {"<h2>a</h2>", "<h3>b</h3>", "<h4>c</h4>"}, 2: {"<h2>d</h2>"}} {
		for _, tag := range tags {
			require.Contains(t, pieces[i].HTML, tag)
		}
	}
}
