package notify

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/message"
)

func hostile() message.Message {
	return message.Message{
		Event: string(Failed), Level: message.Error, Title: "<!channel> failed", URL: "https://forge.example.com/x?a=1&b=2", At: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC),
		Text: "<script>alert(1)</script> **bold** \"quoted\"\nnext",
		Data: map[string]any{
			"workflow": "vision.train", "execution_id": "x", "error": "<b>&\"\\", "started_at": "2026-11-24T11:00:00.5Z", "finished_at": "2026-11-24T11:02:05.5Z",
		},
	}
}

func TestValuesAreEscapedForTheirChannel(t *testing.T) {
	t.Parallel()
	render := func(kind, subject, body string) *message.Custom {
		tpl := Template{Kind: kind, Event: Failed, Subject: subject, Body: body}
		require.NoError(t, tpl.check())
		c, err := tpl.render(hostile())
		require.NoError(t, err)
		return c
	}
	require.Equal(t, "*&lt;!channel&gt; failed* <https://ok.example|page>", render(message.Slack, "", "*{{ title }}* <https://ok.example|page>").Text)
	require.Equal(t, `**\<!channel\> failed**`, render(message.Teams, "", "**{{ title }}**").Text)

	mail := render(message.Email, "{{ workflow }}: {{ text }}", "# {{ title }}\n\n{{ text }}\n\n[open]({{ url }}) [bad](javascript:alert(1)) [also bad]({{ 'javascript:' + error }})\n\n<i>raw</i>")
	require.Equal(t, `vision.train: <script>alert(1)</script> **bold** "quoted" next`, mail.Subject, "one line, and no markup")
	require.Contains(t, mail.Text, "<script>alert(1)</script> **bold**", "the text part is no HTML")
	require.Contains(t, mail.HTML, "&lt;!channel&gt; failed</h")
	require.Contains(t, mail.HTML, "&lt;script&gt;alert(1)&lt;/script&gt; **bold**", "a value is neither HTML nor Markdown")
	require.Contains(t, mail.HTML, `href="https://forge.example.com/x?a=1&amp;b=2"`)
	require.NotContains(t, mail.HTML, "javascript:")
	require.NotContains(t, mail.HTML, "<i>")
	require.NotContains(t, mail.HTML, "<script")

	raw := render(message.Webhook, "", `{"text": "{{ title }}: {{ error }}", "level": "{{ level }}", "n": 1.50, "list": ["{{ error == '' ? nil : 7 }}", "{{ error == \"\" ? nil : 8 }}"]}`).JSON
	var body map[string]any
	require.NoError(t, json.Unmarshal(raw, &body))
	require.Equal(t, map[string]any{"text": `<!channel> failed: <b>&"\`, "level": "error", "n": 1.5, "list": []any{7.0, 8.0}}, body)
}

// TestValuesStayApart: neither a value nor the text around a tag changes where another value is.
func TestValuesStayApart(t *testing.T) {
	t.Parallel()
	m := hostile()
	m.Text = "ffvalue7c1e0 is a word"
	mail, err := Template{Kind: message.Email, Event: Failed, Subject: "x", Body: "{{ level }} {{ workflow }}0 {{ text }}" + strings.Repeat(" {{ level }}", 10)}.render(m)
	require.NoError(t, err)
	require.Contains(t, mail.HTML, "error vision.train0 ffvalue7c1e0 is a word error")
}

func TestVariablesOfAMessage(t *testing.T) {
	t.Parallel()
	env := variablesOf(Failed, hostile())
	require.Equal(t, "2 min 05 s", env["duration"])
	require.Equal(t, "2026-11-24T12:00:00Z", env["at"])
	require.Empty(t, env["submitted_by"], "what a message lacks is empty")
	require.NotContains(t, env, "node_index")
	require.Equal(t, "x", variablesOf(Failed, message.Message{Title: "x"})["title"], "a message may have no data")
	for _, d := range TemplateEvents() {
		s := &Service{config: Config{PublicURL: "https://forge.example.com", Now: time.Now}}
		env := variablesOf(d.Event, s.sampleOf(d.Event))
		require.Len(t, env, len(Variables(d.Event)))
		for _, v := range Variables(d.Event) {
			require.NotNil(t, env[v.Name])
			if !slices.Contains([]string{"error", "text", "node", "schedule", "trigger"}, v.Name) { // a success has no failed node
				require.NotEmpty(t, env[v.Name], "the sample of %s has no %s", d.Event, v.Name)
			}
		}
	}
}

func TestLongValuesAreShortened(t *testing.T) {
	t.Parallel()
	m := hostile()
	m.Text = strings.Repeat("é", 3000)
	c, err := Template{Kind: message.Slack, Event: Failed, Body: "{{ text }}"}.render(m)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("é", maxValue-1)+"…", c.Text)
}

func TestTemplatesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		t     Template
		field string
		part  string
	}{
		{"an unknown variable", Template{Kind: message.Slack, Event: Failed, Body: "a\nb {{ worklfow }}"}, "body", `Line 2, column 3: there is no variable "worklfow". Did you mean workflow?`},
		{"in the subject", Template{Kind: message.Email, Event: Failed, Subject: "{{ stage }}", Body: "x"}, "subject", `Line 1, column 1: there is no variable "stage".`},
		{"of another event", Template{Kind: message.Slack, Event: AnyEvent, Body: "{{ workflow }}"}, "body", "The variables are title, text, url, event, level, at."},
		{"a secret", Template{Kind: message.Slack, Event: Failed, Body: "{{ secrets.token }}"}, "body", `there is no variable "secrets"`},
		{"an invalid expression", Template{Kind: message.Slack, Event: Failed, Body: "{{ title + }}"}, "body", "Line 1, column 1: The expression"},
		{"an open tag", Template{Kind: message.Slack, Event: Failed, Body: "x {{ title"}, "body", `Line 1, column 3: the end "}}"`},
		{"invalid JSON", Template{Kind: message.Webhook, Event: Failed, Body: "{\n  \"a\": {{ title }}\n}"}, "body", "Line 2, column 9: the body is not valid JSON."},
		{"two JSON values", Template{Kind: message.Webhook, Event: Failed, Body: "{} {}"}, "body", "after the JSON value"},
		{"a subject of Slack", Template{Kind: message.Slack, Event: Failed, Subject: "x", Body: "x"}, "subject", "Only e-mails"},
		{"no subject", Template{Kind: message.Email, Event: Failed, Body: "x"}, "subject", "Enter a subject"},
		{"no body", Template{Kind: message.Slack, Event: Failed, Body: " "}, "body", "Enter a text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.t.check()
			require.True(t, apperr.Is(err, apperr.Invalid), "%v", err)
			fields := apperr.FieldsOf(err)
			require.Equal(t, tt.field, fields[0].Path)
			require.Contains(t, fields[0].Message, tt.part)
		})
	}
	require.True(t, apperr.Is(Template{Kind: message.PagerDuty, Event: Failed, Body: "x"}.check(), apperr.NotFound))
	require.True(t, apperr.Is(Template{Kind: message.Slack, Event: "execution.lost", Body: "x"}.check(), apperr.NotFound))
}
