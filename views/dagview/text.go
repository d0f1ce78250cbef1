package dagview

import "strings"

// Sizes and positions of the labels, in CSS pixels.
const (
	nameSize  = 12.5
	subSize   = 11.0
	nameInset = 31
)

// textWidth estimates the width of s in Inter semibold at size, because the server must
// know where to truncate a label.
func textWidth(s string, size float64) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case strings.ContainsRune("ijlI.,:;'|!()[] ", r):
			w += 0.29
		case strings.ContainsRune("frt-/", r):
			w += 0.38
		case strings.ContainsRune("mwMW%@×", r):
			w += 0.87
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			w += 0.64
		case r > 0x2e80:
			w += 1.0
		default:
			w += 0.575
		}
	}
	return w * size
}

// fit truncates s with an ellipsis to at most width.
func fit(s string, width, size float64) string {
	if textWidth(s, size) <= width {
		return s
	}
	runes := []rune(s)
	for len(runes) > 1 && textWidth(string(runes)+"…", size) > width {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}
