package runner

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// moduleOf imports the module of the package and shows what could differ when its code comes from
// another process.
const moduleOf = forkedHere + `
import os, sys, traceback
import module
print(type(module.__loader__).__module__ == "flowforge._compiled")
print(module.count(), module.VALUE, module.__file__ == module.count.__code__.co_filename == os.path.join(os.getcwd(), "module.py"))
try:
    module.fail()
except ValueError:
    print(traceback.format_exc().split('"')[-2] == module.__file__, "raise ValueError" in traceback.format_exc())
`

func TestForksImportCompiledPackages(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	source := func(value int) string {
		return fmt.Sprintf("VALUE = %d\nseen = []\ndef count():\n    seen.append(1)\n    return len(seen)\ndef fail():\n    raise ValueError(VALUE)\n", value)
	}
	packaged := func(id, text string, entries ...tarEntry) *flowforgev1.AttemptSpec {
		s := script(id, text)
		s.PackageSha256 = b.server.put(tarball(t, entries...))
		return s
	}
	for _, value := range []int{1, 2} {
		entry := tarEntry{name: "module.py", content: source(value)}
		i := 0
		eventually(t, "an attempt with a compiled module", func() bool {
			i++
			lines := b.output(t, packaged(fmt.Sprint("compiled", value, "-", i), moduleOf, entry))
			if len(lines) != 4 || lines[0] != "True" || lines[2] != fmt.Sprintf("1 %d True", value) || lines[3] != "True True" {
				t.Fatalf("attempt %d of package %d wrote %q", i, value, lines)
			}
			return lines[1] == "True"
		})
		own := packaged(fmt.Sprint("own", value), "open('module.py', 'w').write("+fmt.Sprintf("%q", source(7))+")\n"+moduleOf, entry)
		if lines := b.output(t, own); lines[1] != "False" || lines[2] != "1 7 True" {
			t.Errorf("an attempt that changed its module wrote %q", lines)
		}
	}
}

// A fork compiles what cannot be compiled without a message, so that every attempt shows it.
func TestMessagesOfTheCompiler(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	for name, c := range map[string]struct{ content, want string }{
		"warning": {"x = 1 is 1\n", "SyntaxWarning"},
		"error":   {"x = = 1\n", "SyntaxError"},
		"coding":  {"# coding: none\n", "unknown encoding"},
	} {
		for i := range 3 {
			spec := script(fmt.Sprint(name, i), "import module")
			spec.PackageSha256 = b.server.put(tarball(t, tarEntry{name: "module.py", content: c.content}))
			b.run(t, spec)
			wrote := strings.Join(b.server.lines(spec.TaskId, "stderr"), "\n")
			if !strings.Contains(wrote, c.want) || strings.Contains(wrote, "_compiled.py") || strings.Contains(wrote, filepath.Join(b.dir, "packages")) {
				t.Errorf("%s, attempt %d: %s", name, i, wrote)
			}
		}
	}
}
