package views

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLogParts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, hit string
		want      []LogPart
	}{
		"plain":            {"loss=0.2", "", []LogPart{{Text: "loss=0.2"}}},
		"colour":           {"a \x1b[1;31mred\x1b[0m b", "", []LogPart{{Text: "a "}, {Text: "red", Class: "ansi-red ansi-bold"}, {Text: " b"}}},
		"bright":           {"\x1b[92mok", "", []LogPart{{Text: "ok", Class: "ansi-green"}}},
		"palette":          {"\x1b[38;5;9mx\x1b[38;2;1;2;3my", "", []LogPart{{Text: "x", Class: "ansi-red"}, {Text: "y"}}},
		"hit":              {"Epoch 1, epoch 2", "epoch", []LogPart{{Text: "Epoch", Hit: true}, {Text: " 1, "}, {Text: "epoch", Hit: true}, {Text: " 2"}}},
		"address":          {"see https://example.org/a?b=1).", "", []LogPart{{Text: "see "}, {Text: "https://example.org/a?b=1", URL: "https://example.org/a?b=1"}, {Text: ")."}}},
		"no script":        {"javascript:alert(1)", "", []LogPart{{Text: "javascript:alert(1)"}}},
		"progress bar":     {"10 %\r55 %\r100 %\r", "", []LogPart{{Text: "100 %"}}},
		"cursor and title": {"\x1b[2K\x1b]0;title\x07x\x1b]8;;http://evil\x1b\\y", "", []LogPart{{Text: "x"}, {Text: "y"}}},
		"cut short":        {"x\x1b[31", "", []LogPart{{Text: "x"}}},
		"turned around":    {"a\u202eb\x00c", "", []LogPart{{Text: "abc"}}},
	} {
		if diff := cmp.Diff(c.want, LogParts(c.text, c.hit)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

func FuzzLogParts(f *testing.F) {
	f.Add("a \x1b[1;31mred\x1b[0m https://x.y/z", "RED")
	f.Add("\x1b]8;;\x1b[38;5;300m", "\xff")
	f.Fuzz(func(t *testing.T, text, hit string) {
		for _, p := range LogParts(text, hit) {
			if strings.ContainsRune(p.Text, 0x1b) {
				t.Errorf("an escape is left in %q", p.Text)
			}
			if p.URL != "" && !strings.HasPrefix(p.URL, "http://") && !strings.HasPrefix(p.URL, "https://") {
				t.Errorf("a link to %q", p.URL)
			}
		}
	})
}
