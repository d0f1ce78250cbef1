package search

import (
	"fmt"
	"unicode/utf8"
)

// Error describes what is wrong with a query, and where.
type Error struct {
	Column     int    // of the first character at fault, from 1
	Length     int    // characters at fault; 0 at the end of the query
	Word       string // at fault
	Message    string // a sentence
	Suggestion string // what may have been meant; "" for none
}

// Error returns the sentence with its place and the suggestion.
func (e *Error) Error() string {
	text := fmt.Sprintf("Column %d: %s", e.Column, e.Message)
	if e.Suggestion != "" {
		text += fmt.Sprintf(" Did you mean %s?", e.Suggestion)
	}
	return text
}

// errorAt returns the error of the bytes from to to of query.
func errorAt(query string, from, to int, format string, args ...any) *Error {
	return &Error{
		Column: utf8.RuneCountInString(query[:from]) + 1, Length: utf8.RuneCountInString(query[from:to]),
		Word: query[from:to], Message: fmt.Sprintf(format, args...),
	}
}

// nearest returns the candidate that differs least from word: at most a third of its letters.
func nearest(word string, candidates []string) string {
	best, least := "", max(1, utf8.RuneCountInString(word)/3)+1
	for _, c := range candidates {
		if d := distance([]rune(word), []rune(c), least); d < least {
			best, least = c, d
		}
	}
	return best
}

// distance returns how many letters must be added, removed, replaced or swapped with their
// neighbour to make b of a (optimal string alignment); limit or more when it is at least limit.
func distance(a, b []rune, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range a {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j, s := range b {
			cost := 1
			if r == s {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && r == b[j-1] && a[i-1] == s {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
