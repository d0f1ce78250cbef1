package search

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of a query: its characters, and the depth of its parentheses and nots.
const (
	MaxLength = 4000
	maxDepth  = 100
	// MaxConditions bounds the conditions of a query, with the values of lists.
	MaxConditions = 100
)

// Context is what names and values of a query mean.
type Context struct {
	Names *Names
	Now   time.Time
	Me    string // the name of the reader, for user:me
	MeID  string // their ID, which the value of user:me has
	// People returns the people whose name or e-mail address contains a text; nil: names stay texts.
	People func(text string) ([]Person, error)
}

// Person is someone who launches executions.
type Person struct {
	ID, Name, Email string
}

// Parse returns the conditions of a query; no conditions are an empty And. The error is an *Error,
// or one of [Context.People].
func Parse(query string, c Context) (Expr, error) {
	if utf8.RuneCountInString(query) > MaxLength {
		return nil, &Error{Column: MaxLength, Message: "The query is too long. It can have at most 4,000 characters."}
	}
	query = strings.ToValidUTF8(query, "\uFFFD")
	tokens, failed := lex(query)
	if failed != nil {
		return nil, failed
	}
	p := &parser{query: query, tokens: tokens, context: c}
	if p.peek().kind == tokenEnd {
		return And{}, nil
	}
	e, failed := p.or()
	if p.err != nil {
		return nil, p.err
	}
	if failed != nil {
		return nil, failed
	}
	if t := p.peek(); t.kind != tokenEnd {
		return nil, p.at(t, "This ) has no matching (.")
	}
	return e, nil
}

// Alternatives reports whether a query has an "or" outside of all parentheses, so that a condition
// after it would belong to its last alternative alone. It does for queries that cannot be read.
func Alternatives(query string) bool {
	tokens, failed := lex(query)
	depth := 0
	for _, t := range tokens {
		switch {
		case t.kind == tokenOpen:
			depth++
		case t.kind == tokenClose:
			depth--
		case depth == 0 && t.is("or"):
			return true
		}
	}
	return failed != nil
}

type parser struct {
	query   string
	tokens  []token
	next    int
	depth   int
	count   int // of conditions
	context Context
	err     error // of Context.People
}

func (p *parser) peek() token { return p.tokens[p.next] }

func (p *parser) take() token {
	t := p.tokens[p.next]
	if t.kind != tokenEnd {
		p.next++
	}
	return t
}

func (p *parser) at(t token, format string, args ...any) *Error {
	return errorAt(p.query, t.from, t.to, format, args...)
}

func (p *parser) or() (Expr, *Error) {
	first, err := p.and()
	if err != nil {
		return nil, err
	}
	list := Or{first}
	for p.peek().is("or") {
		p.take()
		e, err := p.and()
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	if len(list) == 1 {
		return first, nil
	}
	return list, nil
}

// and reads conditions that are joined by "and" or by nothing.
func (p *parser) and() (Expr, *Error) {
	var list And
	for {
		e, err := p.not()
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		t := p.peek()
		if t.is("and") {
			p.take()
			continue
		}
		if t.kind == tokenEnd || t.kind == tokenClose || t.is("or") {
			break
		}
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return list, nil
}

func (p *parser) not() (Expr, *Error) {
	t := p.peek()
	if p.depth++; p.depth > maxDepth {
		return nil, p.at(t, "The query is nested too deeply.")
	}
	defer func() { p.depth-- }()
	switch {
	case t.is("not"):
		p.take()
		e, err := p.not()
		return Not{e}, err
	case t.kind == tokenOpen:
		p.take()
		e, err := p.or()
		if err != nil {
			return nil, err
		}
		if p.peek().kind != tokenClose {
			return nil, p.at(t, "This ( has no matching ).")
		}
		p.take()
		return e, nil
	}
	return p.condition()
}

// more counts a condition.
func (p *parser) more(t token) *Error {
	if p.count++; p.count > MaxConditions {
		return p.at(t, "The query has too many conditions. It can have at most %d.", MaxConditions)
	}
	return nil
}

// condition reads a comparison, or a text without an operator. A name can have quotes.
func (p *parser) condition() (Expr, *Error) {
	t := p.take()
	switch {
	case t.kind == tokenEnd:
		return nil, p.at(t, "The query ends where a condition is expected.")
	case t.kind != tokenWord && t.kind != tokenQuoted, t.is("and"), t.is("or"):
		return nil, p.at(t, "A condition is expected here, such as lr > 0.01.")
	}
	if err := p.more(t); err != nil {
		return nil, err
	}
	operator := p.peek()
	switch {
	case operator.kind == tokenOperator:
		p.take()
		return p.compare(t, operator)
	case operator.is("in") && p.tokens[p.next+1].kind == tokenOpen:
		p.take()
		return p.oneOf(t)
	}
	return Text(t.text), nil
}

// compare reads the value behind "name operator".
func (p *parser) compare(name, operator token) (Expr, *Error) {
	value := p.take()
	if value.kind != tokenWord && value.kind != tokenQuoted {
		return nil, p.at(value, "A value is expected after %s %s.", name.text, operator.text)
	}
	if name.is("has") && operator.text == colon {
		f, err := p.field(value)
		if err == nil && f.isLog() {
			err = p.at(value, "log is searched with ~. Write log ~ \"CUDA\", or not log ~ \"CUDA\".")
		}
		return Compare{Field: f, Op: Has}, err
	}
	f, err := p.field(name)
	if err != nil {
		return nil, err
	}
	op, err := p.operator(f, operator)
	if err != nil {
		return nil, err
	}
	v, err := p.value(f, op, value)
	if err != nil {
		return nil, err
	}
	return shift(Compare{Field: f, Op: op, Values: []Value{v}}), nil
}

// shift replaces since and until by comparisons of the time of the launch.
func shift(c Compare) Compare {
	op := map[string]Op{"since": AtLeast, "until": Less}[c.Field.Name]
	if c.Field.Part == Facts && op != "" {
		c.Field.Name, c.Op = "created", op
	}
	return c
}

// oneOf reads the list of "name in (a, b)".
func (p *parser) oneOf(name token) (Expr, *Error) {
	f, err := p.field(name)
	if err != nil {
		return nil, err
	}
	if f.isLog() {
		return nil, p.at(p.peek(), "log is searched with ~. Write log ~ \"CUDA\" or log ~ \"NCCL\".")
	}
	if f.Part == Facts && f.Is(Time) {
		return nil, p.at(name, "%s is a time: compare it with < or >.", f.Path())
	}
	open := p.take()
	c := Compare{Field: f, Op: Equal}
	for {
		t := p.take()
		if t.kind != tokenWord && t.kind != tokenQuoted {
			return nil, p.at(t, "A value is expected in the list of %s.", name.text)
		}
		if len(c.Values) > 0 {
			if err := p.more(t); err != nil {
				return nil, err
			}
		}
		v, err := p.value(f, Equal, t)
		if err != nil {
			return nil, err
		}
		c.Values = append(c.Values, v)
		switch t = p.take(); t.kind {
		case tokenComma:
		case tokenClose:
			return c, nil
		case tokenEnd:
			return nil, p.at(open, "This ( has no matching ).")
		default:
			return nil, p.at(t, "A comma or ) is expected here.")
		}
	}
}

// field resolves a name.
func (p *parser) field(name token) (Field, *Error) {
	f, choices := p.context.Names.Find(name.text)
	switch {
	case f.Name != "":
		return f, nil
	case len(choices) > 1:
		err := p.at(name, "%q can mean %s.", name.text, strings.Join(choices[:len(choices)-1], ", ")+" or "+choices[len(choices)-1])
		return Field{}, err
	}
	err := p.at(name, "No %s of this project has %q.", p.context.Names.what, name.text)
	if p.context.Names.open {
		err = p.at(name, "There is no field %q. Metadata begins with metadata.", name.text)
	}
	err.Suggestion = nearest(name.text, p.context.Names.spellings())
	return Field{}, err
}

// operator returns the operator that a token means for a field.
func (p *parser) operator(f Field, t token) (Op, *Error) {
	op := Op(t.text)
	switch t.text {
	case colon, doubleSet:
		op = Equal
	case "!":
		return "", p.at(t, "! is not an operator. Use != or !~.")
	case "<=", ">=", "<", ">", "=", "!=", "~", "!~":
	default:
		return "", p.at(t, "%s is not an operator. Use =, !=, <, <=, >, >=, ~ or !~.", t.text)
	}
	only := func(ops ...Op) *Error {
		if slices.Contains(ops, op) {
			return nil
		}
		return p.at(t, "%s cannot be compared with %s.", f.Path(), t.text)
	}
	switch {
	case f.isLog():
		if op != Contains {
			return "", p.at(t, "log is searched with ~. Write log ~ \"CUDA\", or not log ~ \"CUDA\".")
		}
		return op, nil
	case f.Words != nil || f.byEnds():
		return op, only(Equal, Differs)
	case op == Contains || op == Lacks:
		if !f.Is(String) {
			return "", p.at(t, "%s is a number, and ~ searches text. Use another operator.", f.Path())
		}
	case f.Part == Facts && (f.Name == "since" || f.Name == "until"):
		return op, only(Equal)
	case f.Part == Facts && f.Is(String):
		return op, only(Equal, Differs)
	case f.Part == Facts && f.Is(Time) && t.text == colon:
		return "", p.at(t, "%s is a time: compare it with < or >.", f.Path())
	}
	return op, nil
}
