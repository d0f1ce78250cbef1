package message

import (
	"maps"
	"strings"
	"time"
)

// webhookBody has the type, the time and the data of the Standard Webhooks specification.
func webhookBody(m Message) map[string]any {
	data := map[string]any{"title": m.Title, "level": m.Level}
	if m.Text != "" {
		data["text"] = m.Text
	}
	if m.URL != "" {
		data["url"] = m.URL
	}
	maps.Copy(data, m.Data)
	return map[string]any{"type": m.Event, "timestamp": m.At.UTC().Format(time.RFC3339Nano), "data": data}
}

// Limits of Slack, Teams and PagerDuty, in characters.
const (
	maxTitle = 150
	maxText  = 2500
	maxFacts = 10
)

// slackBody is a message of Slack's Block Kit. Its text is the fallback for notifications.
func slackBody(m Message) map[string]any {
	if m.Custom != nil {
		return map[string]any{"text": m.Custom.Text}
	}
	title := EscapeSlack(cut(m.Title, maxTitle))
	if m.URL != "" {
		title = "<" + EscapeSlack(m.URL) + "|" + strings.ReplaceAll(title, "|", "¦") + ">"
	}
	blocks := []any{section(mark(m.Level) + " *" + title + "*")}
	if m.Text != "" {
		blocks = append(blocks, section("```"+EscapeSlack(strings.ReplaceAll(cut(m.Text, maxText), "```", "'''"))+"```"))
	}
	if len(m.Facts) > 0 {
		var fields []string
		for _, f := range m.Facts[:min(len(m.Facts), maxFacts)] {
			fields = append(fields, "*"+EscapeSlack(f.Name)+"* "+EscapeSlack(cut(f.Value, maxTitle)))
		}
		blocks = append(blocks, map[string]any{"type": "context", "elements": []any{mrkdwn(strings.Join(fields, "  ·  "))}})
	}
	return map[string]any{"text": mark(m.Level) + " " + EscapeSlack(cut(m.Title, maxTitle)), "blocks": blocks}
}

func section(text string) map[string]any {
	return map[string]any{"type": "section", "text": mrkdwn(text)}
}

func mrkdwn(text string) map[string]any { return map[string]any{"type": "mrkdwn", "text": text} }

// EscapeSlack escapes the characters that control Slack's markup. Without them, no text can mention
// people or add a link.
func EscapeSlack(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

func mark(l Level) string {
	switch l {
	case Error:
		return "🔴"
	case Warning:
		return "🟠"
	case OK:
		return "🟢"
	case Info:
	}
	return "🔵"
}

// teamsBody is an Adaptive Card for an incoming webhook of Microsoft Teams.
func teamsBody(m Message) map[string]any {
	if m.Custom != nil {
		return teamsCard(map[string]any{"body": []any{map[string]any{"type": "TextBlock", "wrap": true, "text": m.Custom.Text}}})
	}
	color := map[Level]string{Error: "Attention", Warning: "Warning", OK: "Good", Info: "Accent"}[m.Level]
	body := []any{map[string]any{"type": "TextBlock", "size": "Medium", "weight": "Bolder", "wrap": true, "color": color, "text": EscapeTeams(cut(m.Title, maxTitle))}}
	if m.Text != "" {
		body = append(body, map[string]any{"type": "TextBlock", "wrap": true, "fontType": "Monospace", "text": EscapeTeams(cut(m.Text, maxText))})
	}
	if len(m.Facts) > 0 {
		var facts []any
		for _, f := range m.Facts[:min(len(m.Facts), maxFacts)] {
			facts = append(facts, map[string]any{"title": EscapeTeams(f.Name), "value": EscapeTeams(cut(f.Value, maxTitle))})
		}
		body = append(body, map[string]any{"type": "FactSet", "facts": facts})
	}
	card := map[string]any{"body": body}
	if m.URL != "" {
		card["actions"] = []any{map[string]any{"type": "Action.OpenUrl", "title": "Open in FlowForge", "url": m.URL}}
	}
	return teamsCard(card)
}

// teamsCard completes an Adaptive Card and wraps it in a message.
func teamsCard(card map[string]any) map[string]any {
	card["$schema"], card["type"], card["version"] = "http://adaptivecards.io/schemas/adaptive-card.json", "AdaptiveCard", "1.4"
	return map[string]any{"type": "message", "attachments": []any{map[string]any{
		"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card,
	}}}
}

// EscapeTeams escapes the Markdown of Adaptive Cards.
func EscapeTeams(text string) string {
	var out strings.Builder
	for _, r := range text {
		if strings.ContainsRune("\\`*_[]()#<>", r) {
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}

// pagerDutyBody is an event of PagerDuty's Events API v2. A message at level OK resolves the
// incident; the others trigger it.
func pagerDutyBody(key string, m Message) map[string]any {
	event := map[string]any{"routing_key": key, "event_action": "trigger", "dedup_key": m.Incident, "client": "FlowForge"}
	if m.Level == OK {
		event["event_action"] = "resolve"
		return event
	}
	severity := map[Level]string{Error: "error", Warning: "warning", Info: "info"}[m.Level]
	details := map[string]string{}
	for _, f := range m.Facts {
		details[f.Name] = f.Value
	}
	if m.Text != "" {
		details["text"] = cut(m.Text, maxText)
	}
	event["payload"] = map[string]any{
		"summary": cut(m.Title, maxTitle), "source": "FlowForge", "severity": severity, "timestamp": m.At.UTC().Format(time.RFC3339), "class": m.Event, "custom_details": details,
	}
	if m.URL != "" {
		event["client_url"] = m.URL
		event["links"] = []any{map[string]any{"href": m.URL, "text": "Open in FlowForge"}}
	}
	return event
}
