package typeregistry

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// Limits that keep exact arithmetic cheap.
const (
	maxNumberLength = 400
	maxExponent     = 1000
)

// decimal is an exact number: coefficient × 10^exponent, without trailing zeros
// in the coefficient.
type decimal struct {
	coefficient *big.Int
	exponent    int
}

// parseDecimal reads a JSON number, and alongside it the spellings that users
// type: "+1", ".5", "5.".
func parseDecimal(text string) (decimal, bool) {
	if len(text) == 0 || len(text) > maxNumberLength {
		return decimal{}, false
	}
	mantissa, exponentText, hasExponent := strings.Cut(strings.ToLower(text), "e")
	exponent := 0
	if hasExponent {
		var err error
		if exponent, err = strconv.Atoi(exponentText); err != nil || exponent > maxExponent || exponent < -maxExponent {
			return decimal{}, false
		}
	}
	sign := ""
	if mantissa != "" && strings.ContainsRune("+-", rune(mantissa[0])) {
		sign, mantissa = strings.TrimPrefix(mantissa[:1], "+"), mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return decimal{}, false
	}
	coefficient, ok := new(big.Int).SetString(sign+digits, 10)
	if !ok {
		return decimal{}, false
	}
	return decimal{coefficient, exponent - len(fraction)}.trimmed(), true
}

func (d decimal) trimmed() decimal {
	if d.coefficient.Sign() == 0 {
		return decimal{new(big.Int), 0}
	}
	digits := d.coefficient.String()
	kept := strings.TrimRight(digits, "0")
	if kept == digits {
		return d
	}
	coefficient, _ := new(big.Int).SetString(kept, 10)
	return decimal{coefficient, d.exponent + len(digits) - len(kept)}
}

// integral reports whether d has no fraction.
func (d decimal) integral() bool { return d.exponent >= 0 }

// size is the power of ten of the first digit.
func (d decimal) size() int {
	return len(strings.TrimPrefix(d.coefficient.String(), "-")) - 1 + d.exponent
}

func (d decimal) compare(other decimal) int {
	a, b := new(big.Int).Set(d.coefficient), new(big.Int).Set(other.coefficient)
	if shift := d.exponent - other.exponent; shift > 0 {
		a.Mul(a, powerOfTen(shift))
	} else {
		b.Mul(b, powerOfTen(-shift))
	}
	return a.Cmp(b)
}

func powerOfTen(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// integer writes every digit of an integral number.
func (d decimal) integer() json.Number {
	return json.Number(new(big.Int).Mul(d.coefficient, powerOfTen(d.exponent)).String())
}

// canonical writes d as a JSON number: plain between 1e-4 and 1e21, else scientific.
func (d decimal) canonical() json.Number {
	digits, sign := d.coefficient.String(), ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	size := d.size()
	switch {
	case size < -4 || size > 20:
		if len(digits) > 1 {
			digits = digits[:1] + "." + digits[1:]
		}
		return json.Number(sign + digits + "e" + strconv.Itoa(size))
	case d.exponent >= 0:
		return json.Number(sign + digits + strings.Repeat("0", d.exponent))
	case size < 0:
		return json.Number(sign + "0." + strings.Repeat("0", -size-1) + digits)
	}
	return json.Number(sign + digits[:size+1] + "." + digits[size+1:])
}

// compareNumbers compares two numbers that are known to parse.
func compareNumbers(a, b json.Number) int {
	x, okX := parseDecimal(a.String())
	y, okY := parseDecimal(b.String())
	if !okX || !okY {
		return strings.Compare(a.String(), b.String())
	}
	return x.compare(y)
}
