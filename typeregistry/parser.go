package typeregistry

import (
	"encoding/json"
	"strconv"
)

// parser is a recursive descent parser of the grammar in the package comment.
type parser struct {
	tokens []token
	depth  int
	nodes  int
}

// parseExpression parses a whole expression.
func parseExpression(expr string) (*node, error) {
	tokens, err := lex(expr)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	n, err := p.typ()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != endToken {
		return nil, t.location.errorf("%s is not expected after the type", t.describe())
	}
	return n, nil
}

func (p *parser) peek() token { return p.tokens[0] }

func (p *parser) next() token {
	t := p.tokens[0]
	if t.kind != endToken {
		p.tokens = p.tokens[1:]
	}
	return t
}

// accept consumes the mark m when it is next.
func (p *parser) accept(m string) bool {
	if p.peek().is(m) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expect(m string) error {
	if t := p.peek(); !t.is(m) {
		return t.location.errorf("%s is not expected here; %q should follow", t.describe(), m)
	}
	p.next()
	return nil
}

func (p *parser) name(what string) (token, error) {
	t := p.next()
	if t.kind != nameToken {
		return t, t.location.errorf("%s is not expected here; the name of a %s should follow", t.describe(), what)
	}
	return t, nil
}

// enter guards the recursion; call p.depth-- when done.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return p.peek().location.errorf("types and values can be nested at most %d levels deep", maxDepth)
	}
	return nil
}

func (p *parser) typ() (*node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if p.nodes++; p.nodes > maxNodes {
		return nil, p.peek().location.errorf("an expression can contain at most %d types", maxNodes)
	}
	t, err := p.name("type")
	if err != nil {
		return nil, err
	}
	n := &node{location: t.location, name: t.text}
	if p.accept("<") {
		if err := p.typeArgs(n); err != nil {
			return nil, err
		}
	}
	if p.accept("(") {
		if err := p.args(n); err != nil {
			return nil, err
		}
	}
	if p.accept("{") {
		if err := p.fields(n); err != nil {
			return nil, err
		}
	}
	for wraps := p.depth; p.peek().is("?"); wraps++ {
		at := p.next().location
		if wraps >= maxDepth {
			return nil, at.errorf("types and values can be nested at most %d levels deep", maxDepth)
		}
		n = &node{location: at, name: string(KindOptional), types: []nodeType{{node: n}}}
	}
	return n, nil
}

func (p *parser) typeArgs(n *node) error {
	for {
		var arg nodeType
		if p.peek().kind == nameToken && p.tokens[1].is(":") {
			arg.tag = p.next().text
			p.next()
		}
		var err error
		if arg.node, err = p.typ(); err != nil {
			return err
		}
		n.types = append(n.types, arg)
		t := p.next()
		switch {
		case t.is(">"):
			return nil
		case t.is("|") && (n.union || len(n.types) == 1):
			n.union = true
		case t.is(",") && !n.union:
		default:
			return t.location.errorf("%s is not expected here; \">\" should follow", t.describe())
		}
	}
}

func (p *parser) args(n *node) error {
	if p.accept(")") {
		return nil
	}
	for {
		if p.peek().kind == nameToken && p.tokens[1].is("=") {
			t := p.next()
			p.next()
			value, err := p.value()
			if err != nil {
				return err
			}
			n.params = append(n.params, nodeParam{t.location, t.text, value})
		} else {
			value, err := p.option()
			if err != nil {
				return err
			}
			n.args = append(n.args, value)
		}
		if p.accept(")") {
			return nil
		}
		if err := p.expect(","); err != nil {
			return err
		}
	}
}

// option reads a choice of an Enum, with its label when it has one.
func (p *parser) option() (any, error) {
	value, err := p.value()
	if err != nil || !p.accept(":") {
		return value, err
	}
	label := p.next()
	if label.kind != stringToken {
		return nil, label.location.errorf("%s is not expected here; a label in quotation marks should follow", label.describe())
	}
	return map[string]any{"value": value, "label": label.text}, nil
}

func (p *parser) fields(n *node) error {
	n.braces = true
	for !p.accept("}") {
		f, err := p.field()
		if err != nil {
			return err
		}
		n.fields = append(n.fields, f)
		if p.accept("}") {
			return nil
		}
		if err := p.expect(","); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) field() (nodeField, error) {
	t, err := p.name("field")
	f := nodeField{location: t.location, name: t.text}
	if err != nil {
		return f, err
	}
	f.optional = p.accept("?")
	if err := p.expect(":"); err != nil {
		return f, err
	}
	if f.node, err = p.typ(); err != nil {
		return f, err
	}
	if p.accept("=") {
		f.hasDefault = true
		if f.value, err = p.value(); err != nil {
			return f, err
		}
	}
	if p.accept("@") {
		if err := p.expect("{"); err != nil {
			return f, err
		}
		if f.attributes, err = p.object(); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (p *parser) value() (any, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	t := p.next()
	switch {
	case t.kind == stringToken:
		return t.text, nil
	case t.kind == numberToken:
		d, _ := parseDecimal(t.text)
		return d.canonical(), nil
	case t.kind == nameToken:
		return word(t.text), nil
	case t.is("["):
		return p.list()
	case t.is("{"):
		return p.object()
	}
	return nil, t.location.errorf("%s is not expected here; a value should follow", t.describe())
}

// word is the meaning of a bare name in the place of a value.
func word(text string) any {
	constants := map[string]any{"true": true, "false": false, "null": nil}
	if v, ok := constants[text]; ok {
		return v
	}
	return text
}

func (p *parser) list() (any, error) {
	items := []any{}
	if p.accept("]") {
		return items, nil
	}
	for {
		item, err := p.item()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
		if p.accept("]") {
			return items, nil
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
}

// item reads an element of a list: a value, or "name: dtype[dims] @{…}".
func (p *parser) item() (any, error) {
	first := p.peek()
	if first.kind != nameToken && first.kind != stringToken || !p.tokens[1].is(":") {
		return p.value()
	}
	p.next()
	p.next()
	dtype, err := p.name("data type")
	if err != nil {
		return nil, err
	}
	column := map[string]any{"name": first.text, "dtype": dtype.text}
	if p.accept("[") {
		if column["dimensions"], err = p.dimensions(); err != nil {
			return nil, err
		}
	}
	if p.accept("@") {
		if err := p.expect("{"); err != nil {
			return nil, err
		}
		if column["attributes"], err = p.object(); err != nil {
			return nil, err
		}
	}
	return column, nil
}

func (p *parser) dimensions() (any, error) {
	dims := []any{}
	for !p.accept("]") {
		t := p.next()
		n, err := strconv.Atoi(t.text)
		switch {
		case t.is("?"):
			n = -1
		case t.kind != numberToken || err != nil:
			return nil, t.location.errorf("%s is not expected here; a whole number or ? should follow", t.describe())
		}
		dims = append(dims, json.Number(strconv.Itoa(n)))
		if p.peek().is("]") {
			continue
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
	return dims, nil
}

// object reads the rest of an object whose "{" is consumed.
func (p *parser) object() (map[string]any, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	object := map[string]any{}
	if p.accept("}") {
		return object, nil
	}
	for {
		key := p.next()
		if key.kind != nameToken && key.kind != stringToken {
			return nil, key.location.errorf("%s is not expected here; a key should follow", key.describe())
		}
		if _, twice := object[key.text]; twice {
			return nil, key.location.errorf("the key %s appears twice", quote(key.text))
		}
		if err := p.expect(":"); err != nil {
			return nil, err
		}
		value, err := p.value()
		if err != nil {
			return nil, err
		}
		object[key.text] = value
		if p.accept("}") {
			return object, nil
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
}
