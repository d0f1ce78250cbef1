package units

import "strings"

// Shorten cuts text to at most n runes, with an ellipsis, if possible between words. n is at least 1.
func Shorten(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	cut := string(runes[:n-1])
	if space := strings.LastIndexByte(cut, ' '); runes[n-1] != ' ' && space > len(cut)*2/3 {
		cut = cut[:space]
	}
	return strings.TrimRight(cut, " ,;:") + "…"
}
