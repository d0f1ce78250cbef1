package typeregistry

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// parameter is one parameter of a kind. set reads decoded JSON; get
// returns decoded JSON, or nil when the parameter is not set.
type parameter struct {
	name    string
	aliases []string
	summary string
	set     func(*Params, any) error
	get     func(*Params) any
}

func (p parameter) named(name string) bool {
	if p.name == name {
		return true
	}
	return slices.Contains(p.aliases, name)
}

// as returns the parameter with other names.
func (p parameter) as(name, summary string, aliases ...string) parameter {
	p.name, p.summary, p.aliases = name, summary, aliases
	return p
}

func textParam(name, summary string, at func(*Params) *string) parameter {
	return parameter{name: name, summary: summary,
		set: func(p *Params, v any) error {
			s, ok := v.(string)
			if !ok || s == "" {
				return fmt.Errorf("%s is not a string", quote(v))
			}
			*at(p) = s
			return nil
		},
		get: func(p *Params) any {
			if *at(p) == "" {
				return nil
			}
			return *at(p)
		}}
}

func boolParam(name, summary string, at func(*Params) *bool) parameter {
	return parameter{name: name, summary: summary,
		set: func(p *Params, v any) error {
			b, ok := v.(bool)
			if !ok {
				return fmt.Errorf("%s is neither true nor false", quote(v))
			}
			*at(p) = b
			return nil
		},
		get: func(p *Params) any {
			if !*at(p) {
				return nil
			}
			return true
		}}
}

// sizeParam is a whole number from 0 on.
func sizeParam[N int | int64](name, summary string, at func(*Params) **N) parameter {
	return parameter{name: name, summary: summary,
		set: func(p *Params, v any) error {
			n, err := wholeNumber(v)
			if err != nil || n < 0 || int64(N(n)) != n {
				return fmt.Errorf("%s is not a whole number of 0 or more", quote(v))
			}
			size := N(n)
			*at(p) = &size
			return nil
		},
		get: func(p *Params) any {
			if *at(p) == nil {
				return nil
			}
			return json.Number(strconv.FormatInt(int64(**at(p)), 10))
		}}
}

func wholeNumber(v any) (int64, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, fmt.Errorf("%s is not a number", quote(v))
	}
	d, ok := parseDecimal(n.String())
	if !ok || !d.integral() {
		return 0, fmt.Errorf("%s is not a whole number", quote(v))
	}
	return strconv.ParseInt(d.integer().String(), 10, 64)
}

func numberParam(name, summary string, at func(*Params) *json.Number) parameter {
	return parameter{name: name, summary: summary,
		set: func(p *Params, v any) error {
			n, ok := v.(json.Number)
			d, valid := parseDecimal(n.String())
			if !ok || !valid {
				return fmt.Errorf("%s is not a number", quote(v))
			}
			*at(p) = d.canonical()
			return nil
		},
		get: func(p *Params) any {
			if *at(p) == "" {
				return nil
			}
			return *at(p)
		}}
}

func textsParam(name, summary string, at func(*Params) *[]string) parameter {
	return parameter{name: name, summary: summary,
		set: func(p *Params, v any) error {
			if s, ok := v.(string); ok {
				v = []any{s}
			}
			list, ok := v.([]any)
			if !ok {
				return fmt.Errorf("%s is not a list of strings", quote(v))
			}
			texts := make([]string, len(list))
			for i, e := range list {
				if texts[i], ok = e.(string); !ok || texts[i] == "" {
					return fmt.Errorf("%s in the list is not a string", quote(e))
				}
			}
			*at(p) = texts
			return nil
		},
		get: func(p *Params) any {
			if len(*at(p)) == 0 {
				return nil
			}
			list := make([]any, len(*at(p)))
			for i, s := range *at(p) {
				list[i] = s
			}
			return list
		}}
}

func columnsParam(name, summary string, at func(*Params) *[]Column, aliases ...string) parameter {
	return parameter{name: name, aliases: aliases, summary: summary,
		set: func(p *Params, v any) error {
			columns, err := readColumns(v)
			*at(p) = columns
			return err
		},
		get: func(p *Params) any {
			if len(*at(p)) == 0 {
				return nil
			}
			return *at(p)
		}}
}

// readColumns reads columns, features or tensors: a list of objects, or one
// object of name → data type.
func readColumns(v any) ([]Column, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s is not a list such as [image: Tensor[28, 28], label: Integer]", quote(v))
	}
	columns := make([]Column, len(list))
	seen := map[string]bool{}
	for i, e := range list {
		column, err := readColumn(e)
		if err != nil {
			return nil, err
		}
		if seen[column.Name] {
			return nil, fmt.Errorf("%s appears twice", quote(column.Name))
		}
		seen[column.Name] = true
		columns[i] = column
	}
	return columns, nil
}

func readColumn(v any) (Column, error) {
	if name, ok := v.(string); ok && name != "" {
		return Column{Name: name, DType: "Any"}, nil
	}
	object, ok := v.(map[string]any)
	if !ok {
		return Column{}, fmt.Errorf("%s is not a column such as label: Integer", quote(v))
	}
	c := Column{DType: "Any"}
	for key, value := range object {
		if err := c.set(key, value); err != nil {
			return Column{}, err
		}
	}
	if c.Name == "" || strings.ContainsAny(c.Name, "\n\r") {
		return Column{}, fmt.Errorf("a column must have a name")
	}
	return c, nil
}

func (c *Column) set(key string, value any) error {
	text, isText := value.(string)
	switch key {
	case "name":
		c.Name = text
	case "dtype", "type":
		if !isText || !isName(text) {
			return fmt.Errorf("%s is not a data type such as Integer", quote(value))
		}
		c.DType = text
	case "dimensions", "shape":
		list, _ := value.([]any)
		for _, e := range list {
			n, err := wholeNumber(e)
			if e == nil {
				n, err = -1, nil
			}
			if err != nil || n < -1 || n > 1<<31 {
				return fmt.Errorf("%s is not a dimension; enter a whole number, or -1 when it is not fixed", quote(e))
			}
			c.Dimensions = append(c.Dimensions, int(n))
		}
	case "attributes":
		object, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is not an object of attributes", quote(value))
		}
		for k, v := range object {
			c.attribute(k, v)
		}
	default:
		c.attribute(key, value)
	}
	return nil
}

func (c *Column) attribute(key string, value any) {
	if c.Attributes == nil {
		c.Attributes = map[string]any{}
	}
	c.Attributes[key] = value
}
