package db

import "strings"

// EscapeLike escapes text so that a LIKE pattern matches it literally.
func EscapeLike(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}
