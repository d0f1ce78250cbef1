package argo

import (
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/workflow"
)

// givenFiles are the files that a task gives to its template.
func (t *translator) givenFiles(run *task, s *source, in scope, path string) []workflow.Input {
	var list []workflow.Input
	for i, a := range s.Inputs.Artifacts {
		input := workflow.Input{Name: artifactPort + a.Name, Type: t.file, Path: a.Path}
		if a.Mode != nil {
			input.Mode = uint32(*a.Mode) & 0o777 //nolint:gosec // nine bits
		}
		tagged, ok := t.fileArgument(run, a, in, path)
		if !ok {
			own := s.path + fmt.Sprintf(".inputs.artifacts[%d]", i)
			tagged, ok = t.madeFile(a, scope{own: s}, own)
			tagged.Own = true
			if !ok && !a.Optional {
				if !in.unused {
					t.add(path+".arguments.artifacts", "The template %q needs the artifact %q (%s).", s.Name, a.Name, own)
				}
				continue
			}
		}
		tagged.Optional = tagged.Optional || a.Optional
		if tagged.Optional {
			input.Type = t.optional(t.file)
		}
		if ok {
			input.Source = workflow.Source{Kind: workflow.SourceTags, Tagged: tagged}
			list = append(list, input)
		}
	}
	return list
}

// fileArgument is the file that a task gives for an artifact; false for none.
func (t *translator) fileArgument(run *task, input artifact, in scope, path string) (workflow.Tagged, bool) {
	for i, a := range run.Arguments.Artifacts {
		if a.Name != input.Name {
			continue
		}
		at := fmt.Sprintf("%s.arguments.artifacts[%d]", path, i)
		if a.From != "" || a.FromExpression != "" {
			return t.fileSource(a, in, at), true
		}
		if v, ok := t.madeFile(a, in, at); ok {
			return v, true
		}
		t.refuse(!a.Optional, at, "Say which file this is: from, fromExpression, raw, http or git.")
		return workflow.Tagged{}, false
	}
	return workflow.Tagged{}, false
}

// fileSource is another artifact.
func (t *translator) fileSource(a artifact, in scope, path string) workflow.Tagged {
	if a.FromExpression != "" {
		t.checkText("{{="+a.FromExpression+"}}", in, path+".fromExpression")
		return workflow.Tagged{Value: a.FromExpression, As: workflow.TaggedFormula, Optional: a.Optional}
	}
	text := strings.TrimSpace(a.From)
	if expression, ok := strings.CutPrefix(text, "{{="); ok {
		t.checkText(text, in, path+".from")
		return workflow.Tagged{Value: strings.TrimSuffix(expression, "}}"), As: workflow.TaggedFormula, Optional: a.Optional}
	}
	name := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, "{{"), "}}"))
	if text != "{{"+strings.TrimSuffix(strings.TrimPrefix(text, "{{"), "}}")+"}}" || !strings.Contains(name, "artifacts.") {
		t.add(path+".from", "Name one artifact, such as {{tasks.a.outputs.artifacts.b}} or {{inputs.artifacts.b}}.")
	} else {
		t.checkName(name, in, path+".from")
	}
	return workflow.Tagged{Value: name, As: workflow.TaggedName, Optional: a.Optional}
}

// madeFile is a file that the runner makes; false when the artifact says of none.
func (t *translator) madeFile(a artifact, in scope, path string) (workflow.Tagged, bool) {
	v := workflow.Tagged{As: workflow.TaggedText, Optional: a.Optional}
	switch {
	case a.Raw != nil:
		t.checkText(a.Raw.Data, in, path+".raw.data")
		v.Value = map[string]any{workflow.RawText: a.Raw.Data}
	case a.HTTP != nil:
		t.checkText(a.HTTP.URL, in, path+".http.url")
		t.refuse(a.HTTP.URL == "", path+".http.url", "Say where the file is.")
		v.Value = map[string]any{workflow.RawURL: a.HTTP.URL}
	case a.Git != nil:
		t.checkText(a.Git.Repo, in, path+".git.repo")
		t.checkText(a.Git.Revision, in, path+".git.revision")
		t.refuse(a.Git.Repo == "", path+".git.repo", "Say which repository.")
		git := map[string]any{"repo": a.Git.Repo, "revision": a.Git.Revision}
		if a.Git.Depth != nil {
			git["depth"] = fmt.Sprint(*a.Git.Depth)
		}
		v.Value = map[string]any{workflow.RawGit: git}
	default:
		return v, false
	}
	return v, true
}
