package execution

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/expression"
)

// keyedArtifact is an artifact that a task of the execution stored under a key.
type keyedArtifact struct {
	key   string
	value any
	at    time.Time
}

// byKey returns the artifacts that tasks of this execution stored under a key: the latest
// artifact with that key; the part of a folder; or else a folder of all artifacts whose keys
// are below it.
func (p *tagScope) byKey(key string) (any, error) {
	key, err := p.text(key, true)
	if err != nil {
		return nil, err
	}
	kept, err := p.keyedArtifacts()
	if err != nil {
		return nil, err
	}
	requested := strings.Trim(key, "/")
	for _, k := range slices.Backward(kept) {
		if k.key == requested {
			return k.value, nil
		}
	}
	files := map[string]artifact.Entry{}
	for _, k := range kept {
		if err := p.filesBelow(requested, k, files); err != nil {
			return nil, err
		}
	}
	if file, ok := files[""]; ok {
		return map[string]any{"$file": file.SHA256, "name": path.Base(requested)}, nil
	}
	if len(files) > 0 {
		return p.folderOf(files, path.Base(requested))
	}
	return nil, fmt.Errorf("no task of this execution has stored an artifact under the key %q: %w", key, &expression.UnknownError{Name: key})
}

// keyedArtifacts returns the artifacts of the execution that have a key, the latest last.
func (p *tagScope) keyedArtifacts() ([]keyedArtifact, error) {
	l := p.loop
	var kept []keyedArtifact
	for i := range l.nodes {
		n := &l.nodes[i]
		if !l.values.hasOwnOutputs(i) {
			continue
		}
		for _, o := range n.op.Outputs {
			if o.Key == "" {
				continue
			}
			key, err := l.values.within(p.ctx, i, l.values.parameterValues(p.ctx, i)).text(o.Key, false)
			if err != nil {
				continue
			}
			if err := l.values.loadOutputs(p.ctx, []int{i}); err != nil {
				p.broken = err
				return nil, err
			}
			if v, ok := l.values.outputs[i][o.Name]; ok && v != nil {
				kept = append(kept, keyedArtifact{strings.Trim(key, "/"), v, *n.finishedAt})
			}
		}
	}
	slices.SortStableFunc(kept, func(a, b keyedArtifact) int { return a.at.Compare(b.at) })
	return kept, nil
}

// parameterValues returns the inputs of node i that are not files, which a key may read.
// Reading files here could recurse: the node may get one by a key itself.
func (vs *nodeValues) parameterValues(ctx context.Context, i int) map[string]any {
	values := map[string]any{}
	for _, in := range vs.loop.operator(i).Inputs {
		if strings.HasPrefix(in.Name, ArtifactPort) {
			continue
		}
		if v, err := vs.typedWith(ctx, i, in, values); err == nil && v != nil {
			values[in.Name] = v
		}
	}
	return values
}

// filesBelow adds the files of k whose keys are below wanted, by their relative paths; the
// path of the file wanted itself is "".
func (p *tagScope) filesBelow(requested string, k keyedArtifact, files map[string]artifact.Entry) error {
	below, isBelow := strings.CutPrefix(k.key, requested+"/")
	inside, isInside := strings.CutPrefix(requested, k.key+"/")
	if !isBelow && !isInside {
		return nil
	}
	ref, _ := k.value.(map[string]any)
	text, _ := ref["$artifact"].(string)
	id, err := uuid.Parse(text)
	if err != nil {
		return nil //nolint:nilerr // a value that is no artifact has no files
	}
	entries, err := p.filesOf(id)
	if err != nil {
		return err
	}
	for _, e := range entries {
		at, ok := path.Join(below, e.Path), isBelow
		if isInside {
			if at, ok = strings.CutPrefix(e.Path, inside+"/"); e.Path == inside {
				at, ok = "", true
			}
		}
		if ok {
			e.Path = at
			files[at] = e
		}
	}
	return nil
}

// filesOf returns the files of an artifact: those of a folder by their paths, or the file
// itself, with the path "".
func (p *tagScope) filesOf(id uuid.UUID) ([]artifact.Entry, error) {
	l := p.loop
	for _, a := range l.artifacts.part.fresh { // not written yet
		if a.ID == id {
			return p.listed(a.SHA256, a.Size, a.MediaType)
		}
	}
	a, err := l.driver.artifacts.Get(p.ctx, id)
	if err != nil {
		return nil, unlessRefused(fmt.Errorf("read artifact %s: %w", id, err))
	}
	return p.listed(a.SHA256, a.Size, a.MediaType)
}

func (p *tagScope) listed(hash string, size int64, mediaType string) ([]artifact.Entry, error) {
	if mediaType != artifact.DirectoryMediaType {
		return []artifact.Entry{{SHA256: hash, Size: size}}, nil
	}
	r, err := p.loop.driver.artifacts.OpenBlob(p.ctx, p.loop.row.ProjectID, hash)
	if err != nil {
		return nil, unlessRefused(fmt.Errorf("read the folder %s: %w", hash, err))
	}
	defer r.Close()
	folder, err := artifact.ReadDirectory(r)
	return folder.Entries, err
}

// folderOf returns a folder of files of the project, as the value of an input.
func (p *tagScope) folderOf(files map[string]artifact.Entry, name string) (any, error) {
	var folder artifact.Directory
	for _, e := range files {
		folder.Entries = append(folder.Entries, e)
	}
	slices.SortFunc(folder.Entries, func(a, b artifact.Entry) int { return strings.Compare(a.Path, b.Path) })
	blob, err := p.loop.driver.artifacts.Compose(p.ctx, p.loop.row.ProjectID, folder)
	if err != nil {
		return nil, unlessRefused(fmt.Errorf("compose the folder %s: %w", name, err))
	}
	return map[string]any{"$file": blob.SHA256, "name": name, "media_type": artifact.DirectoryMediaType}, nil
}
