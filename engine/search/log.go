package search

import "time"

// LogSpan is how far back a query of logs looks if it sets no beginning: it selects executions that
// were launched within it.
const LogSpan = 30 * 24 * time.Hour

// MinLogText is the number of characters that a text in logs has at least: the index of logs has
// groups of three.
const MinLogText = 3

// isLog reports whether f is the text of logs.
func (f Field) isLog() bool { return f.Part == Facts && f.Name == "log" }

// LogTexts returns the texts that a query finds in logs, each once, without those that it excludes.
func LogTexts(e Expr) []string {
	var texts []string
	seen := map[string]bool{}
	var walk func(Expr)
	walk = func(e Expr) {
		switch e := e.(type) {
		case And:
			for _, of := range e {
				walk(of)
			}
		case Or:
			for _, of := range e {
				walk(of)
			}
		case Compare:
			if e.Field.isLog() && !seen[e.Values[0].Text] {
				seen[e.Values[0].Text] = true
				texts = append(texts, e.Values[0].Text)
			}
		}
	}
	walk(e)
	return texts
}

// WithoutLog returns a query without the condition that logs contain a text, if the whole query
// requires it.
func WithoutLog(e Expr, text string) Expr {
	switch e := e.(type) {
	case And:
		rest := make(And, len(e))
		for i, of := range e {
			rest[i] = WithoutLog(of, text)
		}
		return rest
	case Compare:
		if e.Field.isLog() && e.Op == Contains && e.Values[0].Text == text {
			return And{}
		}
	}
	return e
}

// UsesLogs reports whether a query has a condition on logs.
func UsesLogs(e Expr) bool {
	for _, f := range Used(e) {
		if f.isLog() {
			return true
		}
	}
	return false
}

// LaunchedFrom returns the earliest launch that a query selects; false if it has no bound that
// holds for all of it.
func LaunchedFrom(e Expr) (time.Time, bool) {
	var from time.Time
	var walk func(Expr)
	walk = func(e Expr) {
		switch e := e.(type) {
		case And:
			for _, of := range e {
				walk(of)
			}
		case Compare:
			if e.Field.Part == Facts && e.Field.Name == "created" && (e.Op == AtLeast || e.Op == More) && e.Values[0].Time.After(from) {
				from = e.Values[0].Time
			}
		}
	}
	walk(e)
	return from, !from.IsZero()
}

// LogTextsOf is LogTexts of a query whose other names are not known.
func LogTextsOf(query string) []string {
	tokens, failed := lex(query)
	if failed != nil {
		return nil
	}
	var texts []string
	for i, t := range tokens {
		if t.is("log") && i+2 < len(tokens) && tokens[i+1].text == string(Contains) && (i == 0 || !tokens[i-1].is("not")) {
			texts = append(texts, tokens[i+2].text)
		}
	}
	return texts
}
