package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/comparison/change"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/platform/units"
)

// comparedText limits the texts of one version that are compared line by line, in bytes.
const comparedText = 8 << 20

// Diff is how one version differs from another.
type Diff struct {
	Changes []change.Change
	Files   []FileChange // by name
	Notes   []string     // what was not compared, sentences
}

// FileChange is a file that differs.
type FileChange struct {
	Name  string
	Kind  change.Kind
	Patch change.Patch
	Note  string // why there is no patch; "" if there is one
}

// Breaking reports whether callers of the earlier version can fail.
func (d Diff) Breaking() bool {
	return slices.ContainsFunc(d.Changes, func(c change.Change) bool { return c.Breaks != "" })
}

// Diff compares definitions, and the files of their code packages.
func (p Packages) Diff(ctx context.Context, before, after workflow.Version) (Diff, error) {
	changes, err := change.Between(before.Definition, after.Definition)
	if err != nil {
		return Diff{}, err //nolint:wrapcheck // names the version
	}
	d := Diff{Changes: changes}
	was, note, err := p.contents(ctx, before)
	if err != nil {
		return Diff{}, err
	}
	is, more, err := p.contents(ctx, after)
	if err != nil {
		return Diff{}, err
	}
	d.Notes = slices.Concat(note, more)
	patches, err := codePatches(before, after, was, is)
	if err != nil {
		return Diff{}, err
	}
	d.Changes = change.WithCode(d.Changes, "code", patches)
	old, now := shown(was, is)
	names := map[string]bool{}
	for name := range old {
		names[name] = true
	}
	for name := range now {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f, differs, err := fileChange(name, old[name], now[name])
		if err != nil {
			return Diff{}, err
		}
		if differs {
			d.Files = append(d.Files, f)
		}
	}
	return d, nil
}

// codePatches counts the lines that differ in the functions and files that operators of both versions
// run. The patches have no hunks, because many operators can run one file; the list of files has them.
func codePatches(before, after workflow.Version, was, is map[place]*content) (map[string]change.Patch, error) {
	patches := map[string]change.Patch{}
	known := map[[2]string]change.Patch{} // by both texts
	later := change.OperatorsOf(after.Definition)
	for name, old := range change.OperatorsOf(before.Definition) {
		now, exists := later[name]
		if !exists {
			continue
		}
		oldText, ok := codeOf(before, old, was)
		newText, exists := codeOf(after, now, is)
		if !ok || !exists || oldText == newText {
			continue
		}
		texts := [2]string{oldText, newText}
		p, counted := known[texts]
		if !counted {
			var err error
			if p, err = change.Texts(oldText, newText); err != nil {
				return nil, fmt.Errorf("code of operator %s: %w", name, err)
			}
			p.Hunks = nil
			known[texts] = p
		}
		if p.Added+p.Removed > 0 {
			patches[name] = p
		}
	}
	return patches, nil
}

// codeOf is the text of the function, or of the file, that an operator runs.
func codeOf(v workflow.Version, o *workflow.Operator, files map[place]*content) (string, bool) {
	file, first, last := o.Code.File, 0, 0
	owner := owners(v)[o.Code.Package]
	if function := o.PythonFunction(); function != "" {
		python, _ := v.Definition.Python()
		at := python.Functions[function]
		file, first, last, owner = at.File, at.First, at.Last, ""
	}
	c := files[place{owner, path.Clean(file)}]
	if file == "" || c == nil || !c.isText {
		return "", false
	}
	if last == 0 {
		return c.text, true
	}
	lines := strings.SplitAfter(c.text, "\n")
	if first < 1 || last < first || last > len(lines) {
		return "", false
	}
	return strings.Join(lines[first-1:last], ""), true
}

func fileChange(name string, was, is *content) (FileChange, bool, error) {
	f := FileChange{Name: name, Kind: change.Changed}
	switch {
	case was == nil:
		f.Kind, was = change.Added, &content{isText: true}
	case is == nil:
		f.Kind, is = change.Removed, &content{isText: true}
	case was.hash == is.hash:
		return f, false, nil
	}
	if !was.isText || !is.isText {
		f.Note = fmt.Sprintf("Not compared line by line: the file is not text, it is larger than %s, or the texts of its version are larger than %s.", units.Bytes(Shown), units.Bytes(comparedText))
		return f, true, nil
	}
	var err error
	f.Patch, err = change.Texts(was.text, is.text)
	if len(f.Patch.Hunks) == 0 && f.Kind == change.Changed {
		f.Note = "Only line breaks differ."
	}
	return f, true, err
}

// place is a file of a version. Owner is the first operator that has its package; "" for the package
// of a Python workflow, and for the definition.
type place struct{ owner, name string }

// shown are the files of both versions by name. A name that several packages of a version have gets
// that of the owner in both, so that a changed package is compared with the earlier one.
func shown(was, is map[place]*content) (before, after map[string]*content) {
	several := map[string]bool{}
	for _, files := range []map[place]*content{was, is} {
		owners := map[string]int{}
		for at := range files {
			owners[at.name]++
			several[at.name] = several[at.name] || owners[at.name] > 1
		}
	}
	named := func(files map[place]*content) map[string]*content {
		out := make(map[string]*content, len(files))
		for at, c := range files {
			if several[at.name] && at.owner != "" {
				out[path.Join(at.owner, at.name)] = c
			} else {
				out[at.name] = c
			}
		}
		return out
	}
	return named(was), named(is)
}

// owners are the first operators of the packages of a version, those of graphs as "graph/operator".
func owners(v workflow.Version) map[string]string {
	out := map[string]string{}
	for _, g := range v.Definition.EveryGraph() {
		for _, o := range g.Operators {
			if _, known := out[o.Code.Package]; !known {
				out[o.Code.Package] = path.Join(g.Name, o.Name)
			}
		}
	}
	return out
}

// content is a file as far as it is compared.
type content struct {
	hash   [sha256.Size]byte
	isText bool // text is complete
	text   string
}

// contents reads the files of the code packages of a version, and its document if that is not in
// the native form. Packages that cannot be read are notes.
func (p Packages) contents(ctx context.Context, v workflow.Version) (map[place]*content, []string, error) {
	files := map[place]*content{}
	if doc := v.Definition.Document(); doc != nil {
		text, _ := DefinitionText(v.Definition)
		files[place{"", "definition.yaml"}] = &content{hash: sha256.Sum256(doc), isText: true, text: text}
	}
	var notes []string
	left := int64(comparedText)
	owners := owners(v)
	for _, ref := range packagesOf(v) {
		owner := owners[ref]
		if _, ok := v.Definition.Python(); ok {
			owner = ""
		}
		err := p.collect(ctx, v.ProjectID, ref, owner, files, &left)
		switch {
		case errors.Is(err, errCut):
			notes = append(notes, fmt.Sprintf("Only the first %s of the code package of %s are compared.", units.Bytes(maxRead), v.Version))
		case apperr.Is(err, apperr.NotFound):
			notes = append(notes, fmt.Sprintf("The code package of %s is not available: %s", v.Version, apperr.MessageOf(err)))
		case err != nil:
			return nil, nil, err
		}
	}
	return files, notes, nil
}

func packagesOf(v workflow.Version) []string {
	if python, ok := v.Definition.Python(); ok {
		return []string{python.Package}
	}
	return v.Definition.Packages()
}

// collect adds the files of a package.
func (p Packages) collect(ctx context.Context, project uuid.UUID, ref, owner string, files map[place]*content, left *int64) error {
	return p.walk(ctx, project, ref, func(f File, r io.Reader) error {
		h := sha256.New()
		var text bytes.Buffer
		keeps := f.Size <= Shown && f.Size <= *left
		to := io.Writer(h)
		if keeps {
			to = io.MultiWriter(h, &text)
		}
		if _, err := io.Copy(to, r); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return errUnreadable // walk returns errCut instead where the limit ended the bytes
		}
		c := &content{isText: keeps && utf8.Valid(text.Bytes()) && !bytes.ContainsRune(text.Bytes(), 0)}
		copy(c.hash[:], h.Sum(nil))
		if c.isText {
			*left -= f.Size
			c.text = strings.ReplaceAll(text.String(), "\r\n", "\n")
		}
		files[place{owner, f.Name}] = c
		return nil
	})
}
