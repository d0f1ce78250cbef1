package db

import "strings"

// EscapeLike makes text match itself in a LIKE pattern.
func EscapeLike(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}
