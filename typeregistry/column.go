package typeregistry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// MarshalJSON writes the attributes alongside the other fields, as in documents.
func (c Column) MarshalJSON() ([]byte, error) {
	fields := maps.Clone(c.Attributes)
	if fields == nil {
		fields = map[string]any{}
	}
	fields["name"], fields["dtype"] = c.Name, c.DType
	if len(c.Dimensions) > 0 {
		fields["dimensions"] = c.Dimensions
	}
	return json.Marshal(fields)
}

// UnmarshalJSON reads the form of MarshalJSON, and the earlier one with an object attributes.
// A null is an absent attribute, except as a default value.
func (c *Column) UnmarshalJSON(raw []byte) error {
	var known struct {
		Name       string         `json:"name"`
		DType      string         `json:"dtype"`
		Dimensions []int          `json:"dimensions"`
		Attributes map[string]any `json:"attributes"`
	}
	var fields map[string]any
	for _, into := range []any{&known, &fields} {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber() // numbers of attributes stay as they are written
		if err := d.Decode(into); err != nil {
			return fmt.Errorf("read a column: %w", err)
		}
	}
	*c = Column{Name: known.Name, DType: known.DType, Dimensions: known.Dimensions, Attributes: known.Attributes}
	for name, value := range fields {
		if !ownField(name) {
			c.attribute(name, value)
		}
	}
	maps.DeleteFunc(c.Attributes, func(name string, value any) bool {
		return ownField(name) || value == nil && name != "default_value"
	})
	return nil
}

// ownField reports whether a field of the document is not an attribute.
func ownField(name string) bool {
	return slices.Contains([]string{"name", "dtype", "dimensions", "attributes"}, name)
}

// CheckAttributes returns what is wrong with the attributes that have a type; "" for nothing.
func (c Column) CheckAttributes() string {
	for name, value := range c.Attributes {
		var ok bool
		var want string
		switch name {
		case "description":
			_, ok = value.(string)
			want = "a string"
		case "statistics":
			_, ok = value.(map[string]any)
			want = "an object"
		case "nullable":
			_, ok = value.(bool)
			want = "true or false"
		default:
			continue
		}
		if !ok {
			return name + " must be " + want + "."
		}
	}
	return ""
}
