package apperr

import "strings"

// maxNear is the maximum length of the words that Distance compares, in bytes.
const maxNear = 100

// Nearest returns the candidate closest to word, ignoring case, or "" when every
// candidate differs in more than two letters. Callers use it for "Did you mean".
func Nearest(word string, candidates []string) string {
	best, least := "", 3
	for _, c := range candidates {
		if d := Distance(strings.ToLower(word), strings.ToLower(c)); c != "" && d < least {
			best, least = c, d
		}
	}
	return best
}

// Distance is the number of bytes to change, insert or delete to turn a into b
// (Levenshtein distance, Wagner–Fischer algorithm). For words longer than maxNear, it is
// the length of the longer one.
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
