package units

import (
	"strconv"
	"strings"
)

// Quantity splits "1,000 MiB" or "0.5" into the number and its unit, which may be empty.
func Quantity(text string) (number float64, unit string, ok bool) {
	text = strings.TrimSpace(text)
	end := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("+-.,0123456789", r) })
	if end < 0 {
		end = len(text)
	}
	number, err := parseGrouped(strings.TrimSpace(text[:end]))
	return number, strings.TrimSpace(text[end:]), err == nil
}

// parseGrouped reads a number with or without commas between thousands. A comma anywhere
// else is an error, because some languages use it as the decimal separator.
func parseGrouped(number string) (float64, error) {
	whole, _, _ := strings.Cut(number, ".")
	groups := strings.Split(whole, ",")
	for _, g := range groups[1:] {
		if len(g) != 3 {
			return 0, strconv.ErrSyntax
		}
	}
	return strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
}

// SizeOf returns the bytes of one unit of size: binary units in any case (Ki, KiB, gib), and
// decimal ones as Kubernetes and disks have them (k, K, KB, M, MB, G, GB). A small m is
// no megabyte, because Kubernetes reads it as a thousandth.
func SizeOf(unit string) (bytes float64, ok bool) {
	letter, base := strings.TrimSuffix(unit, "B"), 1000.0
	if binary := strings.TrimSuffix(strings.ToLower(unit), "b"); len(binary) == 2 && binary[1] == 'i' {
		letter, base = strings.ToUpper(binary[:1]), 1024
	}
	if letter == "k" {
		letter = "K"
	}
	power := strings.Index("KMGTPE", letter)
	if len(letter) != 1 || power < 0 {
		return 0, false
	}
	for bytes = base; power > 0; power-- {
		bytes *= base
	}
	return bytes, true
}
