package masking

import "strings"

// Cut prepares the start of a text for sending before the rest is known: it returns the
// masked part to send now, and the unmasked rest to hold, because a secret may begin in
// it.
func (m *Masker) Cut(text string) (send, hold string) {
	if m.Empty() {
		return text, ""
	}
	var out strings.Builder
	i := 0
	// Up to here, every form fits into the text, so the longest match is known.
	for len(text)-i >= m.longest {
		if form := m.at(text[i:]); form != "" {
			out.WriteString(Mark)
			i += len(form)
			continue
		}
		out.WriteByte(text[i])
		i++
	}
	return out.String(), text[i:]
}

// at returns the longest form that text begins with, "" for none.
func (m *Masker) at(text string) string {
	for _, form := range m.forms[text[0]] {
		if strings.HasPrefix(text, form) {
			return form
		}
	}
	return ""
}
