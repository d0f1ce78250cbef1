package sheet

import (
	"encoding/json"
	"strconv"
	"strings"
)

// identity is what values are compared by: equal values of one kind have equal identities. A text
// differs from a number that looks the same, and numbers are compared with all their digits,
// because two seeds above 2⁵³ can be one floating-point number.
func identity(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case json.Number:
		return decimal(v.String())
	}
	if _, ok := Number(v); ok {
		return decimal(Text(v))
	}
	return Text(v)
}

// decimal is a number as its digits and the power of ten behind them, so that 1e3, 1000 and 1000.0
// are one. A text that is not a number stays as it is.
func decimal(text string) string {
	mantissa, power, _ := strings.Cut(strings.ToLower(text), "e")
	exponent := 0
	if power != "" {
		n, err := strconv.Atoi(power)
		if err != nil {
			return text
		}
		exponent = n
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	short := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(short)
	if short == "" {
		return "0"
	}
	if negative {
		short = "-" + short
	}
	return short + "e" + strconv.Itoa(exponent)
}
