package telemetry

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Number is a float64 whose JSON encodes NaN and the infinities as strings.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return json.Marshal(strconv.FormatFloat(f, 'g', -1, 64)) //nolint:wrapcheck // a short text
	}
	return json.Marshal(f) //nolint:wrapcheck // a finite number
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(b []byte) error {
	var f float64
	if err := json.Unmarshal(b, &f); err == nil {
		*n = Number(f)
		return nil
	}
	var word string
	if err := json.Unmarshal(b, &word); err != nil {
		return fmt.Errorf("number: %w", err)
	}
	f, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return fmt.Errorf("number: %w", err)
	}
	*n = Number(f)
	return nil
}
