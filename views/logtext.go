package views

import (
	"net/url"
	"strconv"
	"strings"
)

// LogParts splits one line of a task into styled parts: ANSI colours become classes, http
// and https URLs become links, and matches of hit (plain text, ignoring case) are marked.
// It drops every other control sequence.
func LogParts(text, hit string) []LogPart {
	if i := strings.LastIndexByte(strings.TrimRight(text, "\r"), '\r'); i >= 0 {
		text = text[i+1:] // a progress bar that rewrote its line: keep its last state
	}
	var parts []LogPart
	var look style
	for text != "" {
		run, params, rest := nextEscape(text)
		for _, p := range split(run, hit) {
			p.Class = look.class()
			parts = append(parts, p)
		}
		look = look.apply(params)
		text = rest
	}
	return parts
}

// nextEscape splits text at its first control sequence. Params are the parameters of an
// SGR sequence (ECMA-48), empty for any other.
func nextEscape(text string) (run, params, rest string) {
	run, rest, _ = strings.Cut(text, "\x1b")
	run = printable(run)
	if rest == "" {
		return run, "", ""
	}
	switch rest[0] {
	case '[':
		for k := 1; k < len(rest); k++ {
			if rest[k] >= 0x40 && rest[k] <= 0x7e {
				if rest[k] == 'm' {
					params = "0" + rest[1:k]
				}
				return run, params, rest[k+1:]
			}
		}
		return run, "", ""
	case ']', 'P', '_', '^': // a string that ends with BEL or ESC \
		end := strings.IndexAny(rest, "\x07\x1b")
		if end < 0 {
			return run, "", ""
		}
		skip := 1
		if rest[end] == 0x1b && strings.HasPrefix(rest[end+1:], `\`) {
			skip = 2
		}
		return run, "", rest[end+skip:]
	default:
		return run, "", rest[1:]
	}
}

// printable keeps tabs and removes other control characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if (r < 0x20 && r != '\t') || (r >= 0x7f && r < 0xa0) || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069) {
			return -1 // the last two ranges could reverse the direction of the line
		}
		return r
	}, s)
}

// style is the accumulated style of SGR parameters.
type style struct {
	fore, back                    int // 1 to 8 for the eight colours, 0 for none
	bold, dim, italic, underlined bool
}

func ansiColour(n int) string {
	return []string{"", "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"}[n]
}

func (s style) class() string {
	var classes []string
	if s.fore > 0 {
		classes = append(classes, "ansi-"+ansiColour(s.fore))
	}
	if s.back > 0 {
		classes = append(classes, "ansi-on-"+ansiColour(s.back))
	}
	for _, f := range []struct {
		on   bool
		name string
	}{{s.bold, "bold"}, {s.dim, "dim"}, {s.italic, "italic"}, {s.underlined, "underline"}} {
		if f.on {
			classes = append(classes, "ansi-"+f.name)
		}
	}
	return strings.Join(classes, " ")
}

// apply returns the style after SGR parameters; "" leaves it unchanged.
func (s style) apply(params string) style {
	if params == "" {
		return s
	}
	list := strings.Split(params, ";")
	for i := 0; i < len(list); i++ {
		n, err := strconv.Atoi(list[i])
		if err != nil && list[i] != "" {
			continue
		}
		switch {
		case n == 0:
			s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.dim = true
		case n == 3:
			s.italic = true
		case n == 4:
			s.underlined = true
		case n == 22:
			s.bold, s.dim = false, false
		case n == 23:
			s.italic = false
		case n == 24:
			s.underlined = false
		case n == 38 || n == 48:
			colour, used := extended(list[i+1:])
			if n == 38 {
				s.fore = colour
			} else {
				s.back = colour
			}
			i += used
		case n == 39:
			s.fore = 0
		case n == 49:
			s.back = 0
		default:
			s = s.paint(n)
		}
	}
	return s
}

func (s style) paint(n int) style {
	switch {
	case n >= 30 && n <= 37:
		s.fore = n - 29
	case n >= 90 && n <= 97:
		s.fore = n - 89
	case n >= 40 && n <= 47:
		s.back = n - 39
	case n >= 100 && n <= 107:
		s.back = n - 99
	}
	return s
}

// extended parses the colour after 38 or 48: the first sixteen of the palette are the
// eight colours and their bright variants; it ignores all others.
func extended(list []string) (colour, used int) {
	if len(list) == 0 {
		return 0, 0
	}
	switch list[0] {
	case "5":
		if len(list) < 2 {
			return 0, 1
		}
		if n, err := strconv.Atoi(list[1]); err == nil && n >= 0 && n < 16 {
			return n%8 + 1, 2
		}
		return 0, 2
	case "2":
		return 0, min(4, len(list))
	}
	return 0, 1
}

// split splits a part at hits and URLs.
func split(run, hit string) []LogPart {
	var parts []LogPart
	for run != "" {
		at := addressAt(run)
		if at < 0 {
			return append(parts, marked(run, hit)...)
		}
		end := at + strings.IndexFunc(run[at:]+" ", func(r rune) bool {
			return r <= ' ' || strings.ContainsRune("\"'<>`|\\^{}", r)
		})
		address := strings.TrimRight(run[at:end], ".,:;!?)]}")
		parts = append(parts, marked(run[:at], hit)...)
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			parts = append(parts, LogPart{Text: address, URL: address})
		} else {
			parts = append(parts, marked(address, hit)...)
		}
		run = run[at+len(address):]
	}
	return parts
}

func addressAt(s string) int {
	at := -1
	for _, scheme := range []string{"http://", "https://"} {
		if i := strings.Index(s, scheme); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	return at
}

func marked(s, hit string) []LogPart {
	if s == "" {
		return nil
	}
	lower, needle := strings.ToLower(s), strings.ToLower(hit)
	if needle == "" || len(lower) != len(s) {
		return []LogPart{{Text: s}}
	}
	var parts []LogPart
	for {
		i := strings.Index(lower, needle)
		if i < 0 {
			break
		}
		if i > 0 {
			parts = append(parts, LogPart{Text: s[:i]})
		}
		parts = append(parts, LogPart{Text: s[i : i+len(needle)], Hit: true})
		s, lower = s[i+len(needle):], lower[i+len(needle):]
	}
	if s != "" {
		parts = append(parts, LogPart{Text: s})
	}
	return parts
}
