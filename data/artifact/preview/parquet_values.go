package preview

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"
)

// hexBytes is how much of a binary value is shown.
const hexBytes = 32

func text(v any) any {
	b, ok := v.([]byte)
	if !ok {
		return v
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

func hexadecimal(v any) any {
	b, ok := v.([]byte)
	switch {
	case !ok:
		return v
	case len(b) > hexBytes:
		return fmt.Sprintf("0x%s… (%d bytes)", hex.EncodeToString(b[:hexBytes]), len(b))
	}
	return "0x" + hex.EncodeToString(b)
}

func uuidText(v any) any {
	b, ok := v.([]byte)
	if !ok || len(b) != 16 {
		return hexadecimal(v)
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func days(v any) any {
	n, ok := v.(int64)
	if !ok {
		return hexadecimal(v)
	}
	return time.Unix(n*24*60*60, 0).UTC()
}

func since(unit int64) func(any) any {
	return func(v any) any {
		n, ok := v.(int64)
		if !ok {
			return hexadecimal(v)
		}
		per := int64(time.Second) / unit
		return time.Unix(n/per, n%per*unit).UTC()
	}
}

func timeOfDay(unit int64) func(any) any {
	return func(v any) any {
		n, ok := v.(int64)
		if !ok || n < 0 || n > int64(24*time.Hour)/unit {
			return hexadecimal(v)
		}
		return time.Time{}.Add(time.Duration(n * unit)).Format("15:04:05.999999999")
	}
}

// int96 is a time of old writers: nanoseconds of a Julian day.
func int96(v any) any {
	b, ok := v.([]byte)
	if !ok || len(b) != 12 {
		return hexadecimal(v)
	}
	const julianDayOf1970 = 2_440_588
	day := int64(binary.LittleEndian.Uint32(b[8:])) - julianDayOf1970
	return time.Unix(day*24*60*60, int64(binary.LittleEndian.Uint64(b))).UTC() //nolint:gosec // any 64 bits
}

func unsigned(v any) any {
	n, ok := v.(int64)
	if ok && n < 0 {
		return float64(uint64(n)) //nolint:gosec // it has more bits than an int64 holds
	}
	return v
}

// decimal is a scaled integer as a float64.
func decimal(scale int) func(any) any {
	factor := math.Pow10(scale)
	return func(v any) any {
		switch v := v.(type) {
		case int64:
			return float64(v) / factor
		case []byte:
			if len(v) > 64 {
				return hexadecimal(v)
			}
			n := new(big.Int).SetBytes(v)
			if len(v) > 0 && v[0]&0x80 != 0 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
			}
			f, _ := new(big.Float).SetInt(n).Float64()
			return f / factor
		}
		return v
	}
}

func float16(v any) any {
	b, ok := v.([]byte)
	if !ok || len(b) != 2 {
		return hexadecimal(v)
	}
	return half(binary.LittleEndian.Uint16(b))
}

// half is an IEEE 754 number of 16 bits.
func half(n uint16) float64 {
	sign := 1.0
	if n&0x8000 != 0 {
		sign = -1
	}
	exponent, fraction := int(n>>10&31), float64(n&1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}
