package document

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/flowforge/flowforge/data/markdown"
)

// setting is an option of a block.
type setting struct {
	name   string
	values []string
	line   int
}

// setter writes an option to a block, or returns what is wrong with it.
type setter func(*Block, []string) string

// optionsOf are the options of a kind of block.
func optionsOf(kind Kind) (map[string]setter, bool) {
	selection := map[string]setter{
		"title": textOf(func(b *Block) *string { return &b.Title }),
		"view":  textOf(func(b *Block) *string { return &b.View }),
		"where": textOf(func(b *Block) *string { return &b.Where }),
		"sort":  textOf(func(b *Block) *string { return &b.Sort }),
	}
	switch kind {
	case Table:
		selection["columns"] = listOf(func(b *Block) *[]string { return &b.Columns }, columnsMost)
		selection["limit"] = limitOf(tableMost)
		return selection, true
	case Chart:
		selection["metric"] = listOf(func(b *Block) *[]string { return &b.Metrics }, chartsMost)
		selection["executions"] = executionsOf
		selection["limit"] = limitOf(chartMost)
		selection["x"] = axisOf
		selection["scale"] = choiceOf("log", "linear", func(b *Block, on bool) { b.Log = on })
		selection["outliers"] = choiceOf("hide", "show", func(b *Block, on bool) { b.Outliers = on })
		selection["smoothing"] = smoothingOf
		return selection, true
	case Artifact, Execution, Sweep:
		return map[string]setter{"id": idOf, "title": textOf(func(b *Block) *string { return &b.Title })}, true
	}
	return nil, false
}

func one(values []string) (string, string) {
	if len(values) != 1 || strings.TrimSpace(values[0]) == "" {
		return "", "Enter one value."
	}
	return strings.TrimSpace(values[0]), ""
}

func textOf(field func(*Block) *string) setter {
	return func(b *Block, values []string) string {
		value, problem := one(values)
		*field(b) = value
		return problem
	}
}

func listOf(field func(*Block) *[]string, most int) setter {
	return func(b *Block, values []string) string {
		list := split(values)
		if len(list) == 0 {
			return "Enter at least one value."
		}
		if len(list) > most {
			return fmt.Sprintf("Enter at most %d values.", most)
		}
		*field(b) = list
		return ""
	}
}

// split reads a list: of YAML, or separated by commas.
func split(values []string) []string {
	var list []string
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
	}
	return list
}

func limitOf(most int) setter {
	return func(b *Block, values []string) string {
		value, _ := one(values)
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > most {
			return fmt.Sprintf("Enter a limit from 1 to %d.", most)
		}
		b.Limit = n
		return ""
	}
}

func smoothingOf(b *Block, values []string) string {
	value, _ := one(values)
	share, err := strconv.ParseFloat(value, 64)
	if err != nil || !(share >= 0 && share <= 0.95) {
		return "Enter a smoothing from 0 to 0.95."
	}
	b.Smooth = int(share*100 + 0.5)
	return ""
}

func axisOf(b *Block, values []string) string {
	value, _ := one(values)
	switch value {
	case "step", "time", "relative":
		b.Axis = value
		return ""
	}
	return "Enter step, time or relative."
}

func choiceOf(on, off string, set func(*Block, bool)) setter {
	return func(b *Block, values []string) string {
		value, _ := one(values)
		if value != on && value != off {
			return fmt.Sprintf("Enter %s or %s.", on, off)
		}
		set(b, value == on)
		return ""
	}
}

var fullID = regexp.MustCompile(`[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)

// reference is the ID in a text, which can be the address of a page.
func reference(text string) string {
	if id := fullID.FindString(text); id != "" {
		return strings.ToLower(id)
	}
	return strings.TrimPrefix(text, "#")
}

func idOf(b *Block, values []string) string {
	value, problem := one(values)
	b.ID = reference(value)
	return problem
}

func executionsOf(b *Block, values []string) string {
	list := split(values)
	if len(list) == 0 || len(list) > chartMost {
		return fmt.Sprintf("Enter 1 to %d executions.", chartMost)
	}
	for _, text := range list {
		b.Executions = append(b.Executions, reference(text))
	}
	return ""
}

// readOptions reads a flat YAML mapping of texts, numbers and lists of them. It walks the syntax
// tree, so that anchors and nested values cannot cost more than they are long.
func readOptions(f markdown.Fence) (list []setting, problems []Problem) {
	if strings.TrimSpace(f.Body) == "" {
		return nil, nil
	}
	if len(f.Body) > maxOptions {
		return nil, []Problem{{f.Line, fmt.Sprintf("The options of a block have at most %d bytes.", maxOptions)}}
	}
	if strings.Count(f.Body, "[")+strings.Count(f.Body, "{") > 50 {
		return nil, []Problem{{f.Line + 1, "Write options as name: value, without nested lists and objects."}}
	}
	file, err := parse(f.Body)
	if err != nil {
		return nil, []Problem{yamlProblem(f, err)}
	}
	for _, doc := range file.Docs {
		switch body := doc.Body.(type) {
		case nil, *ast.CommentGroupNode:
		case *ast.MappingNode:
			for _, pair := range body.Values {
				list, problems = readPair(f, pair, list, problems)
			}
		case *ast.MappingValueNode:
			list, problems = readPair(f, body, list, problems)
		default:
			problems = append(problems, Problem{f.Line + 1, "Write options as name: value, each on its own line."})
		}
	}
	return list, problems
}

func readPair(f markdown.Fence, pair *ast.MappingValueNode, list []setting, problems []Problem) ([]setting, []Problem) {
	key := pair.Key.GetToken()
	line := f.Line + key.Position.Line
	values, ok := scalars(pair.Value)
	if !ok {
		return list, append(problems, Problem{line, fmt.Sprintf("The option %s must be a string, a number, or a list of them.", shorten(key.Value))})
	}
	return append(list, setting{key.Value, values, line}), problems
}

// scalars are the texts of a scalar or of a list of scalars.
func scalars(n ast.Node) ([]string, bool) {
	switch n := n.(type) {
	case *ast.SequenceNode:
		var list []string
		for _, v := range n.Values {
			text, ok := scalar(v)
			if !ok {
				return nil, false
			}
			list = append(list, text)
		}
		return list, true
	default:
		text, ok := scalar(n)
		return []string{text}, ok
	}
}

func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return strings.TrimSpace(n.Value.Value), true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	case *ast.NullNode:
		return "", true
	}
	return "", false
}

// parse converts panics of the parser on malformed input to errors.
func parse(text string) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the parser gave up: %v", p)
		}
	}()
	return parser.ParseBytes([]byte(text), 0, parser.AllowDuplicateMapKey())
}

func yamlProblem(f markdown.Fence, err error) Problem {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil && at.GetToken().Position != nil {
		return Problem{f.Line + at.GetToken().Position.Line, fmt.Sprintf("The options cannot be read: %s. Write name: value, and quote values with special characters.", at.GetMessage())}
	}
	return Problem{f.Line + 1, "The options cannot be read. Write name: value, each on its own line."}
}
