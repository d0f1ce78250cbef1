package content

import "strings"

// CSVText is a text as a cell of a CSV file. A spreadsheet would evaluate a text that begins
// like a formula, so such a text begins with an apostrophe instead. Numbers need no CSVText:
// a sign is theirs.
func CSVText(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
