package runner

import (
	"fmt"
	"testing"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// BenchmarkPython is BenchmarkTrue for a Python function.
func BenchmarkPython(b *testing.B) {
	for _, together := range []int{1, 100} {
		b.Run(fmt.Sprint(together), func(b *testing.B) {
			server := newTaskServer(b)
			p := startSupervisor(b, server, shortTempDir(b))
			sha := server.put(tarball(b, tarEntry{name: "flow.py", content: "from flowforge import operator\n\n@operator\ndef add(number: int) -> int:\n    return number + 1\n"}))
			started := 0
			for b.Loop() {
				var specs []*flowforgev1.AttemptSpec
				for range together {
					spec := script(fmt.Sprint("t", started), "from flowforge._task import run\n\nrun('flow:add')\n")
					spec.PackageSha256, spec.InputsJson = sha, `{"number":1}`
					specs = append(specs, spec)
					started++
				}
				p.start(b, specs...)
				server.await(b, "the end of all", func() bool { return len(server.finished) == started })
			}
			b.ReportMetric(float64(started)/b.Elapsed().Seconds(), "attempts/s")
		})
	}
}

// BenchmarkTrue measures attempts of /bin/true from the call of Start to the delivered
// result, through a supervisor in its own process: one at a time, and a thousand at a
// time.
func BenchmarkTrue(b *testing.B) {
	for _, together := range []int{1, 1000} {
		b.Run(fmt.Sprint(together), func(b *testing.B) {
			server := newTaskServer(b)
			p := startSupervisor(b, server, shortTempDir(b))
			started := 0
			for b.Loop() {
				var specs []*flowforgev1.AttemptSpec
				for range together {
					specs = append(specs, argv(fmt.Sprint("t", started), "/bin/true"))
					started++
				}
				p.start(b, specs...)
				server.await(b, "the end of all", func() bool { return len(server.finished) == started })
			}
			b.ReportMetric(float64(started)/b.Elapsed().Seconds(), "attempts/s")
		})
	}
}
