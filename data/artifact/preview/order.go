package preview

import (
	"cmp"
	"math"
	"strings"
	"time"
)

// compareValues orders values: numbers, then times, then texts; nulls and NaN are last in both
// directions.
func compareValues(a, b any, desc bool) int {
	ra, rb := rankOf(a), rankOf(b)
	if ra == rankNone || rb == rankNone {
		return cmp.Compare(ra, rb)
	}
	c := cmp.Compare(ra, rb)
	if c == 0 {
		c = compareSame(a, b)
	}
	if desc {
		return -c
	}
	return c
}

const (
	rankBool = iota
	rankNumber
	rankTime
	rankText
	rankNone
)

func rankOf(v any) int {
	switch v := v.(type) {
	case bool:
		return rankBool
	case int64:
		return rankNumber
	case float64:
		if math.IsNaN(v) {
			return rankNone
		}
		return rankNumber
	case time.Time:
		return rankTime
	case string:
		return rankText
	}
	return rankNone
}

func compareSame(a, b any) int {
	switch a := a.(type) {
	case bool:
		switch b := b.(bool); {
		case a == b:
			return 0
		case a:
			return 1
		}
		return -1
	case time.Time:
		return a.Compare(b.(time.Time))
	case string:
		return strings.Compare(a, b.(string))
	case int64:
		if other, ok := b.(int64); ok {
			return cmp.Compare(a, other)
		}
	}
	return cmp.Compare(number(a), number(b))
}

// number is an int64 or a float64 as a float64.
func number(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	return v.(float64)
}
