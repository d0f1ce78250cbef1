package preview

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of JSON documents.
const (
	TreeBytes    = 32 << 20 // of a document that are read
	TreeChildren = 100      // shown of the selected value
	MaxFound     = 100      // results of a search

	treeNodes  = 300 // shown in total
	treeInner  = 20  // shown of each value below the selected one
	treeLevels = 6   // shown below the selected value
	treeDepth  = 1000
	treeTime   = 2 * time.Second
	treeText   = 300       // runes shown of a text
	treeAlone  = 100 << 10 // bytes shown of a selected text
)

// Tree is a part of a JSON document: the value at a path with what it contains.
type Tree struct {
	Root     *Node      `json:"root,omitempty" doc:"Selected value; absent if it was not reached"`
	From     int64      `json:"from,omitempty" doc:"Index of the first element shown"`
	Read     int64      `json:"read_bytes" doc:"Number of bytes read"`
	Complete bool       `json:"complete" doc:"True if the whole document was read"`
	Problem  string     `json:"problem,omitempty" doc:"Reason why the document was not read completely"`
	Found    []TreeHit  `json:"found,omitempty" doc:"Names and values that contain the search text"`
	MoreHits bool       `json:"more_found,omitempty" doc:"True if there are more than 100 results"`
	trail    []treePart // path of the selected value
}

// Node is a value of a JSON document.
type Node struct {
	Key      string  `json:"key,omitempty" doc:"Name or index within the parent value"`
	Path     string  `json:"path" doc:"Path, such as $.layers[3].name; empty if longer than 4,000 bytes"`
	Kind     string  `json:"kind" enum:"object,array,string,number,boolean,null"`
	Value    string  `json:"value,omitempty" doc:"Value of a string, number or boolean"`
	Cut      bool    `json:"cut,omitempty" doc:"True if the string is truncated"`
	Count    int64   `json:"count,omitempty" doc:"Number of elements read from an object or array"`
	Children []*Node `json:"children,omitempty" doc:"Elements shown"`
}

// TreeHit is a result of a search.
type TreeHit struct {
	Path  string `json:"path" doc:"Path; empty if longer than 4,000 bytes"`
	Value string `json:"value,omitempty"`
}

// ReadTree reads a JSON document of at most TreeBytes. A longer or damaged document is read up to
// there. at is the path of the selected value, from the first of its elements to show, and find a
// text to search in names and values.
func ReadTree(ctx context.Context, f File, at string, from int64, find string) (t Tree, err error) {
	defer recovered(&err, "JSON document")
	trail, err := parsePath(at)
	if err != nil {
		return t, err
	}
	counted := &countedReader{r: io.NewSectionReader(f, 0, min(f.Size, TreeBytes))}
	d := json.NewDecoder(bufio.NewReaderSize(skipMark(counted), 64<<10))
	d.UseNumber()
	r := &treeReader{
		d: d, b: &budget{ctx: ctx, rows: 1 << 40, bytes: 1 << 40, until: time.Now().Add(treeTime)},
		trail: trail, find: strings.ToLower(find), from: max(from, 0), left: treeNodes, children: TreeChildren,
	}
	r.t.trail, r.t.From = trail, r.from
	err = r.document()
	r.t.Read = min(counted.n, f.Size)
	switch {
	case err == nil:
		r.t.Complete = true
	case f.Size > TreeBytes && counted.n >= TreeBytes:
		r.t.Problem = "The document is larger than 32 MiB. Only its beginning is shown."
	case errors.Is(err, errTreeTime):
		r.t.Problem = "Reading the document took longer than 2 seconds. Only its beginning is shown."
	case errors.Is(err, errTreeDepth):
		r.t.Problem = "The document is nested more than 1,000 levels deep. Only its beginning is shown."
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		r.t.Problem = "The document is truncated. The readable part is shown."
	default:
		syntax, ok := errors.AsType[*json.SyntaxError](err)
		if !ok {
			return r.t, err
		}
		r.t.Problem = "The document is not valid JSON at byte " + strconv.FormatInt(syntax.Offset, 10) + ": " + syntax.Error() + ". The part before it is shown."
		if r.t.Root == nil && len(trail) == 0 {
			return r.t, bad("The file is not JSON: %s.", syntax)
		}
	}
	return r.t, nil
}

// skipMark removes a byte order mark.
func skipMark(r io.Reader) io.Reader {
	b := bufio.NewReader(r)
	if mark, err := b.Peek(3); err == nil && string(mark) == "\ufeff" {
		_, _ = b.Discard(3)
	}
	return b
}

// countedReader counts what is read.
type countedReader struct {
	r io.Reader
	n int64
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err //nolint:wrapcheck // io.EOF is compared by readers
}

var (
	errTreeTime  = errors.New("the time of a document is over")
	errTreeDepth = errors.New("a document is nested too deeply")
)

// treeReader walks over the tokens of a document and keeps those that are shown.
type treeReader struct {
	d        *json.Decoder
	b        *budget
	trail    []treePart
	find     string
	from     int64
	children int64 // shown of the selected value
	left     int   // nodes that may still be kept
	path     []treePart
	looked   int64 // byte at which the clock was looked at
	t        Tree
}

// document reads the only value of the document.
func (r *treeReader) document() error {
	if err := r.value(nil, true); err != nil {
		return err
	}
	if _, err := r.d.Token(); !errors.Is(err, io.EOF) {
		r.t.Problem = "The file contains more than one JSON value. Only the first one is shown."
	}
	return nil
}

// value reads one value. parent is the node that shows it, nil where it is not shown.
// onTrail reports whether the selected value is this one or is inside it.
func (r *treeReader) value(parent *Node, onTrail bool) error {
	if r.late() {
		return errTreeTime
	}
	if len(r.path) > treeDepth {
		return errTreeDepth
	}
	token, err := r.d.Token()
	if err != nil {
		return err //nolint:wrapcheck // ReadTree distinguishes them
	}
	n := nodeOf(token)
	selected := onTrail && len(r.path) == len(r.trail)
	r.search(n)
	var shown *Node
	switch {
	case selected:
		if text, ok := token.(string); ok {
			n.Value, n.Cut = cutBytes(text, treeAlone)
		}
		n.Path = pathText(r.path)
		shown, r.t.Root = n, n
	case parent != nil:
		n.Key, n.Path = keyText(r.path), pathText(r.path)
		parent.Children = append(parent.Children, n)
		r.left--
		shown = n
	}
	switch token {
	case json.Delim('{'):
		return r.object(shown, n, selected, onTrail)
	case json.Delim('['):
		return r.array(shown, n, selected, onTrail)
	}
	return nil
}

// late looks at the clock after some values, and after each long text.
func (r *treeReader) late() bool {
	r.b.tick++
	if at := r.d.InputOffset(); r.b.tick%clockEvery == 0 || at-r.looked > 64<<10 {
		r.looked = at
		return r.b.late()
	}
	return false
}

func (r *treeReader) object(shown, n *Node, selected, onTrail bool) error {
	for r.d.More() {
		token, err := r.d.Token()
		if err != nil {
			return err //nolint:wrapcheck // ReadTree distinguishes them
		}
		name, _ := token.(string)
		if err := r.element(shown, n, treePart{name: name, index: -1}, selected, onTrail); err != nil {
			return err
		}
	}
	_, err := r.d.Token()
	return err //nolint:wrapcheck // ReadTree distinguishes them
}

func (r *treeReader) array(shown, n *Node, selected, onTrail bool) error {
	for r.d.More() {
		if err := r.element(shown, n, treePart{index: n.Count}, selected, onTrail); err != nil {
			return err
		}
	}
	_, err := r.d.Token()
	return err //nolint:wrapcheck // ReadTree distinguishes them
}

func (r *treeReader) element(shown, n *Node, part treePart, selected, onTrail bool) error {
	depth := len(r.path)
	r.path = append(r.path, part)
	parent := shown
	switch {
	case shown == nil:
	case selected: // keeps all elements of one page
		if n.Count < r.from || n.Count >= r.from+r.children {
			parent = nil
		}
	case r.left <= 0 || n.Count >= treeInner || depth-len(r.trail) >= treeLevels:
		parent = nil
	}
	n.Count++
	inside := onTrail && depth < len(r.trail) && r.trail[depth] == part
	err := r.value(parent, inside)
	r.path = r.path[:depth]
	return err
}

// search keeps a name or a value that contains the text.
func (r *treeReader) search(n *Node) {
	if r.find == "" || r.t.MoreHits {
		return
	}
	hit := strings.Contains(strings.ToLower(n.Value), r.find)
	if !hit && len(r.path) > 0 {
		hit = strings.Contains(strings.ToLower(r.path[len(r.path)-1].name), r.find)
	}
	if !hit {
		return
	}
	if len(r.t.Found) == MaxFound {
		r.t.MoreHits = true
		return
	}
	value := n.Value
	if n.Kind == "object" || n.Kind == "array" {
		value = ""
	}
	r.t.Found = append(r.t.Found, TreeHit{Path: pathText(r.path), Value: value})
}

func nodeOf(token json.Token) *Node {
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			return &Node{Kind: "object"}
		}
		return &Node{Kind: "array"}
	case string:
		n := &Node{Kind: "string"}
		n.Value, n.Cut = cutRunes(v, treeText)
		return n
	case json.Number:
		n := &Node{Kind: "number"}
		n.Value, n.Cut = cutRunes(v.String(), treeText)
		return n
	case bool:
		return &Node{Kind: "boolean", Value: strconv.FormatBool(v)}
	}
	return &Node{Kind: "null"}
}

// cutRunes returns the first n characters of a text.
func cutRunes(text string, n int) (string, bool) {
	if len(text) <= n {
		return text, false
	}
	count := 0
	for i := range text {
		if count == n {
			return strings.Clone(text[:i]), true
		}
		count++
	}
	return text, false
}

// cutBytes returns the characters within the first n bytes of a text.
func cutBytes(text string, n int) (string, bool) {
	if len(text) <= n {
		return text, false
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.Clone(text[:n]), true
}
