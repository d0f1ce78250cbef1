package runner

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestLineSplitter(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", maxLine) // two bytes each
	for name, test := range map[string]struct {
		in   []string
		want []string
	}{
		"lines":           {[]string{"a\nb\n"}, []string{"a", "b"}},
		"pieces":          {[]string{"a", "b\n", "c"}, []string{"ab", "c"}},
		"empty lines":     {[]string{"\n\nx\n"}, []string{"", "", "x"}},
		"windows":         {[]string{"a\r\nb\r", "\nc"}, []string{"a", "b", "c"}},
		"progress":        {[]string{"10%\r", "20%\r30%", "\ndone\n"}, []string{"30%", "done"}},
		"not UTF-8":       {[]string{"a\xffb\n"}, []string{"a\uFFFDb"}},
		"zero":            {[]string{"a\x00b\n"}, []string{"a\uFFFDb"}},
		"split character": {[]string{"\xc3", "\xa9\n"}, []string{"é"}},
		"long":            {[]string{long + "\n"}, []string{long[:maxLine], long[maxLine:]}},
		"long, odd":       {[]string{"x" + long + "\n"}, []string{"x" + long[:maxLine-2], long[maxLine-2 : 2*maxLine-2], long[2*maxLine-2:]}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			s := lineSplitter{emit: func(line string) { got = append(got, line) }}
			for _, p := range test.in {
				s.write([]byte(p))
			}
			s.close()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzLineSplitter(f *testing.F) {
	f.Add([]byte("a\r\nb\xff\x00"), 2)
	f.Fuzz(func(t *testing.T, in []byte, step int) {
		var got []string
		s := lineSplitter{emit: func(line string) { got = append(got, line) }}
		for rest := in; len(rest) > 0; {
			n := min(max(1, step), len(rest))
			s.write(rest[:n])
			rest = rest[n:]
		}
		s.close()
		var whole []string
		w := lineSplitter{emit: func(line string) { whole = append(whole, line) }}
		w.write(in)
		w.close()
		if diff := cmp.Diff(whole, got); diff != "" {
			t.Error(diff)
		}
		for _, line := range got {
			if !utf8.ValidString(line) || strings.ContainsAny(line, "\n\x00") {
				t.Errorf("line %q", line)
			}
		}
	})
}

func TestMessagesHaveNoColors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":                           "plain",
		"\x1b[1;31mValueError\x1b[0m: no": "ValueError: no",
		"\x1b[2K\x1b[?25h":                "",
		"a \x1b alone":                    "a \x1b alone",
	} {
		if got := withoutEscapes(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"loss 0.3":           levelInfo,
		"ERROR:root:no file": levelError,
		"2026-01-02 03:04:05,678 WARNING trainer": levelWarn,
		"[error] broken":      levelError,
		"warning: deprecated": levelWarn,
		"DEBUG x":             levelDebug,
		"0 error so far":      levelInfo,
		"the error: is small": levelInfo,
		"I wrote down the ERRORS of this very long line, ERROR": levelInfo,
	} {
		if got := levelOf(line); got != want {
			t.Errorf("%q is %s, want %s", line, got, want)
		}
	}
	var g levelGuess
	var got []string
	for _, line := range []string{"Traceback (most recent call last):", `  File "x.py", line 1`, "ValueError: bad", "next"} {
		level, _ := g.read(line)
		got = append(got, level)
	}
	if diff := cmp.Diff([]string{levelError, levelError, levelError, levelInfo}, got); diff != "" {
		t.Error(diff)
	}
}
