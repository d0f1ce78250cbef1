package search

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// value returns the value of a token as the field wants it.
func (p *parser) value(f Field, op Op, t token) (Value, *Error) {
	switch {
	case f.isLog() && utf8.RuneCountInString(strings.TrimSpace(t.text)) < MinLogText:
		return Value{}, p.at(t, "Enter at least %d characters to search in logs.", MinLogText)
	case op == Contains || op == Lacks:
		return Value{Type: String, Text: t.text}, nil
	case f.Is(Time):
		at, ok := moment(t.text, p.context.Now)
		if !ok {
			return Value{}, p.at(t, "%q is not a time. Enter a date such as 2026-11-08, or a duration such as 7d.", t.text)
		}
		return Value{Type: Time, Time: at}, nil
	case f.Is(Span):
		d, ok := span(t.text)
		if !ok {
			return Value{}, p.at(t, "%q is not a duration. Enter one such as 90s, 10m or 2h.", t.text)
		}
		return Value{Type: Span, Number: d.Seconds()}, nil
	}
	number, isNumber := numberOf(t)
	switch {
	case isNumber && f.Is(Number):
		return Value{Type: Number, Number: number, Text: t.text}, nil
	case !f.Is(String):
		return Value{}, p.at(t, "%s is a number, and %q is not. Enter a number such as 0.01.", f.Path(), t.text)
	}
	return p.word(f, t)
}

// word returns a text; of a fact with a list of words, one of them.
func (p *parser) word(f Field, t token) (Value, *Error) {
	v := Value{Type: String, Text: t.text}
	if f.Part == Facts && f.Name == "user" {
		return p.person(t)
	}
	if f.Words == nil {
		return v, nil
	}
	v.Text = strings.ToLower(t.text)
	if slices.Contains(f.Words, v.Text) {
		return v, nil
	}
	err := p.at(t, "%q is not a %s. Enter one of %s.", t.text, f.Name, strings.Join(f.Words, ", "))
	err.Suggestion = nearest(v.Text, f.Words)
	return Value{}, err
}

// person returns the person that a text identifies: me, an ID, a name or an e-mail address, in full or
// a unique part of it. A text without a match is the name of a person who was removed.
func (p *parser) person(t token) (Value, *Error) {
	v := Value{Type: String, Text: t.text}
	switch {
	case strings.EqualFold(t.text, "me") && p.context.Me != "":
		v.Text, v.ID = p.context.Me, p.context.MeID
		return v, nil
	case isID(t.text):
		v.ID = strings.ToLower(t.text)
		return v, nil
	case p.context.People == nil || t.text == "":
		return v, nil
	}
	found, err := p.context.People(t.text)
	if err != nil {
		p.err = err
		return v, p.at(t, "The users cannot be read.")
	}
	exact := slices.DeleteFunc(slices.Clone(found), func(one Person) bool {
		return !strings.EqualFold(one.Name, t.text) && !strings.EqualFold(one.Email, t.text)
	})
	if len(exact) > 0 {
		found = exact
	}
	switch len(found) {
	case 0:
		return v, nil
	case 1:
		v.Text, v.ID = found[0].Name, found[0].ID
		return v, nil
	}
	return v, p.at(t, "%q can be %s. Enter the full name or e-mail address.", t.text, choices(found))
}

// choices lists people, with the e-mail address of those who share a name.
func choices(people []Person) string {
	const most = 6
	names := map[string]int{}
	for _, one := range people {
		names[one.Name]++
	}
	list := make([]string, 0, len(people))
	for i, one := range people {
		if i == most {
			list = append(list, "others")
			break
		}
		if names[one.Name] > 1 && one.Email != "" {
			list = append(list, one.Name+" ("+one.Email+")")
		} else {
			list = append(list, one.Name)
		}
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

// isID reports whether a text is the ID of a user.
func isID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i, c := range strings.ToLower(text) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdef", c) {
			return false
		}
	}
	return true
}

// numberOf reads a number; quotes make it a text.
func numberOf(t token) (float64, bool) {
	if t.kind == tokenQuoted {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(t.text, "_", ""), 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// moment reads a date, a date with a time, or a time span before now.
func moment(text string, now time.Time) (time.Time, bool) {
	switch strings.ToLower(text) {
	case "today":
		return now.UTC().Truncate(24 * time.Hour), true
	case "yesterday":
		return now.UTC().Truncate(24 * time.Hour).Add(-24 * time.Hour), true
	}
	if d, ok := span(text); ok {
		return now.Add(-d), true
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", time.DateTime, time.RFC3339Nano} {
		if at, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			return at.UTC(), at.Year() > 0
		}
	}
	return time.Time{}, false
}

// span reads a duration such as 90s, 1h30m, 7d or 2w.
func span(text string) (time.Duration, bool) {
	const day = 24 * time.Hour
	for unit, length := range map[string]time.Duration{"d": day, "w": 7 * day, "mo": 30 * day, "y": 365 * day} {
		if digits, found := strings.CutSuffix(text, unit); found {
			f, err := strconv.ParseFloat(digits, 64)
			if err == nil && f >= 0 && f <= float64(math.MaxInt64/int64(length)) {
				return time.Duration(f * float64(length)), true
			}
		}
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0 && text != "0"
}
