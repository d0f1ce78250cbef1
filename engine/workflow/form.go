package workflow

import "regexp"

// form is a pattern of texts of limited length. A repetition such as {0,127} in a pattern is compiled
// into a copy for each character, in every process at its start.
type form struct {
	pattern *regexp.Regexp // of ASCII texts
	most    int            // characters
}

func formOf(pattern string, most int) form { return form{regexp.MustCompile(pattern), most} }

// MatchString reports whether the text has this form.
func (f form) MatchString(text string) bool {
	return len(text) <= f.most && f.pattern.MatchString(text)
}
