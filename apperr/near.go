package apperr

import "strings"

// maxNear bounds the words that are compared, in bytes.
const maxNear = 100

// Nearest returns the candidate that differs from word in at most two letters, in
// whatever case, and least of all; "" when there is none. It is for "Did you mean".
func Nearest(word string, candidates []string) string {
	best, least := "", 3
	for _, c := range candidates {
		if d := Distance(strings.ToLower(word), strings.ToLower(c)); c != "" && d < least {
			best, least = c, d
		}
	}
	return best
}

// Distance is the number of bytes to change, add or take away between a and b
// (Levenshtein, by the algorithm of Wagner and Fischer); for words that are too long to
// compare, the length of the longer one.
func Distance(a, b string) int {
	if len(a) > maxNear || len(b) > maxNear {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
