package argo

import (
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/engine/workflow"
)

// fileInputs returns the file inputs of the template of a task.
func (f *fileSources) fileInputs(run *task, s *source, in scope, path string) []workflow.Input {
	var list []workflow.Input
	for i, a := range s.Inputs.Artifacts {
		input := workflow.Input{Name: artifactPort + a.Name, Type: f.file, Path: a.Path}
		if a.Mode != nil {
			input.Mode = uint32(*a.Mode) & 0o777 //nolint:gosec // nine bits
		}
		input.Recurse, input.SubPath = a.RecurseMode, a.SubPath
		f.checks.checkText(a.SubPath, scope{own: s}, fmt.Sprintf("%s.inputs.artifacts[%d].subPath", s.path, i))
		f.subPathOf(run, a, &input, in, path)
		if a.Path != "" {
			f.checks.checkPath(a.Path, scope{own: s}, fmt.Sprintf("%s.inputs.artifacts[%d].path", s.path, i))
		}
		tagged, ok := f.fileArgument(run, a, in, path)
		if !ok {
			own := s.path + fmt.Sprintf(".inputs.artifacts[%d]", i)
			tagged, ok = f.ownFile(a, scope{own: s}, own)
			tagged.Own = true
			if !ok && !a.Optional {
				if !in.unused {
					f.add(path+".arguments.artifacts", "The template %q needs the artifact %q (%s).", s.Name, a.Name, own)
				}
				continue
			}
		}
		tagged.Optional = tagged.Optional || a.Optional
		if tagged.Optional {
			input.Type = f.optional(f.file)
		}
		if ok {
			input.Source = workflow.Source{Kind: workflow.SourceTags, Tagged: tagged}
			list = append(list, input)
		}
	}
	return list
}

// subPathOf reads the file of a folder that an argument selects: with subPath, or after the tag in
// from.
func (f *fileSources) subPathOf(run *task, input artifact, to *workflow.Input, in scope, path string) {
	for i, a := range run.Arguments.Artifacts {
		if a.Name != input.Name {
			continue
		}
		at := fmt.Sprintf("%s.arguments.artifacts[%d].subPath", path, i)
		_, behind := splitFrom(a.From)
		if behind != "" && a.SubPath == "" {
			a.SubPath = behind
		}
		f.checks.checkText(a.SubPath, in, at)
		f.refuse(a.SubPath != "" && input.SubPath != "", at, "The input already selects a file of the folder.")
		if a.SubPath != "" {
			to.SubPath, to.SubPathGiven = a.SubPath, true
		}
	}
}

// splitFrom separates a tag from the path after it: "{{tasks.a.outputs.artifacts.b}}/c.txt".
func splitFrom(from string) (tag, behind string) {
	text := strings.TrimSpace(from)
	if end := strings.LastIndex(text, "}}/"); end > 0 && strings.HasPrefix(text, "{{") {
		return text[:end+2], text[end+3:]
	}
	return text, ""
}

// fileArgument returns the file that a task passes as an artifact; false for none.
func (f *fileSources) fileArgument(run *task, input artifact, in scope, path string) (workflow.Tagged, bool) {
	for i, a := range run.Arguments.Artifacts {
		if a.Name != input.Name {
			continue
		}
		at := fmt.Sprintf("%s.arguments.artifacts[%d]", path, i)
		if a.From != "" || a.FromExpression != "" {
			return f.fileSource(a, in, at), true
		}
		if v, ok := f.ownFile(a, in, at); ok {
			return v, true
		}
		f.refuse(!a.Optional, at, "Set the source of the file: from, fromExpression, raw, http, git, s3, oss, azure, gcs or artifactory.")
		return workflow.Tagged{}, false
	}
	return workflow.Tagged{}, false
}

// fileSource returns an artifact that is passed on.
func (f *fileSources) fileSource(a artifact, in scope, path string) workflow.Tagged {
	if a.FromExpression != "" {
		f.checks.checkText("{{="+a.FromExpression+"}}", in, path+".fromExpression")
		return workflow.Tagged{Value: a.FromExpression, As: workflow.TaggedFormula, Optional: a.Optional}
	}
	text, _ := splitFrom(a.From)
	if expression, ok := strings.CutPrefix(text, "{{="); ok {
		f.checks.checkText(text, in, path+".from")
		return workflow.Tagged{Value: strings.TrimSuffix(expression, "}}"), As: workflow.TaggedFormula, Optional: a.Optional}
	}
	name := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, "{{"), "}}"))
	if text != "{{"+strings.TrimSuffix(strings.TrimPrefix(text, "{{"), "}}")+"}}" || !strings.Contains(name, "artifacts.") {
		f.add(path+".from", "Reference one artifact, such as {{tasks.a.outputs.artifacts.b}} or {{inputs.artifacts.b}}.")
	} else {
		f.checks.checkName(name, in, path+".from")
	}
	return workflow.Tagged{Value: name, As: workflow.TaggedName, Optional: a.Optional}
}

// ownFile returns a file that the runner creates or fetches; false for an artifact without a source.
func (f *fileSources) ownFile(a artifact, in scope, path string) (workflow.Tagged, bool) {
	v := workflow.Tagged{As: workflow.TaggedText, Optional: a.Optional}
	switch {
	case a.Raw != nil:
		f.checks.checkText(a.Raw.Data, in, path+".raw.data")
		v.Value = map[string]any{workflow.RawText: a.Raw.Data}
	case a.HTTP != nil && a.HTTP.Auth == nil:
		f.checks.checkText(a.HTTP.URL, in, path+".http.url")
		f.refuse(a.HTTP.URL == "", path+".http.url", "Set the source of the file.")
		v.Value = map[string]any{
			workflow.RawURL: a.HTTP.URL, "headers": f.headers(a.HTTP.Headers, in, path+".http.headers"),
			workflow.RawArchive: string(f.archiveOf(a, path).Format),
		}
	case a.Git != nil:
		f.checks.checkText(a.Git.Repo, in, path+".git.repo")
		f.checks.checkText(a.Git.Revision, in, path+".git.revision")
		f.refuse(a.Git.Repo == "", path+".git.repo", "Set repo.")
		v.Value = map[string]any{workflow.RawGit: f.git(a.Git, in, path+".git")}
	case a.inBucket():
		v.Value = map[string]any{workflow.RawBucket: f.bucketOf(a, in, path), workflow.RawArchive: string(f.archiveOf(a, path).Format)}
	case a.S3 != nil:
		f.checks.checkText(a.S3.Key, in, path+".s3.key")
		f.refuse(a.S3.Key == "", path+".s3.key", "Set the key of the stored file.")
		v.As, v.Value = workflow.TaggedKey, a.S3.Key
	default:
		return v, false
	}
	return v, true
}

// git describes the working tree that the runner clones.
func (f *fileSources) git(g *repository, in scope, path string) map[string]any {
	git := map[string]any{"repo": g.Repo, "revision": g.Revision, "branch": g.Branch}
	if g.Depth != nil {
		git["depth"] = fmt.Sprint(*g.Depth)
	}
	f.checks.checkText(g.Branch, in, path+".branch")
	f.refuse(strings.HasPrefix(g.Branch, "-"), path+".branch", "This is not a valid branch name.")
	f.refuse(g.SingleBranch && g.Branch == "", path+".branch", "singleBranch requires branch.")
	for name, yes := range map[string]bool{"single": g.SingleBranch, "plain": g.DisableSubmodules, "insecure": g.InsecureSkipTLS} {
		if yes {
			git[name] = "true"
		}
	}
	var fetch []any
	for i, spec := range g.Fetch {
		f.checks.checkText(spec, in, fmt.Sprintf("%s.fetch[%d]", path, i))
		f.refuse(spec == "" || strings.HasPrefix(spec, "-"), fmt.Sprintf("%s.fetch[%d]", path, i), "This is not a valid git refspec.")
		fetch = append(fetch, spec)
	}
	if len(fetch) > 0 {
		git["fetch"] = fetch
	}
	return git
}

// headers returns the headers of a request by name.
func (f *fileSources) headers(list []httpHeader, in scope, path string) map[string]any {
	out := map[string]any{}
	for i, h := range list {
		f.checks.checkText(h.Value, in, fmt.Sprintf("%s[%d].value", path, i))
		f.refuse(h.Name == "", fmt.Sprintf("%s[%d].name", path, i), "A header must have a name.")
		out[h.Name] = h.Value
	}
	return out
}

// gcOf returns when an artifact is deleted: its own strategy, or else that of the workflow.
func (f *fileSources) gcOf(a artifact, path string) string {
	own, at := a.ArtifactGC, path+".artifactGC.strategy"
	if own == nil || own.Strategy == "" {
		own, at = f.spec.ArtifactGC, "spec.artifactGC.strategy"
	}
	if own == nil {
		return ""
	}
	switch own.Strategy {
	case "", "OnWorkflowDeletion":
		return ""
	case "OnWorkflowCompletion":
		return "completion"
	case "Never":
		return "never"
	}
	f.add(at, "Unknown strategy %q; the strategies are OnWorkflowCompletion, OnWorkflowDeletion and Never.", own.Strategy)
	return ""
}
