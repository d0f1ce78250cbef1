package views

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHiddenTextIsApartFromItsWord: a screen reader joins hidden text to the word before it, unless the
// text begins with a space or with punctuation.
func TestHiddenTextIsApartFromItsWord(t *testing.T) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{"*.templ", "*/*.templ"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.NotEmpty(t, files)
	hidden := regexp.MustCompile(`[^\s>]<span class="vh">(\{ ")?(.)[^<]*`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range hidden.FindAllStringSubmatch(string(text), -1) {
			if found[0] == `g<span class="vh">{ "arithmic, " + name }` { // the rest of the word
				continue
			}
			require.Contains(t, " ,:", found[2], "%s: %s", file, found[0])
		}
	}
}
