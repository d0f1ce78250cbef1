package typeregistry

import "testing"

func BenchmarkParse(b *testing.B) {
	r := Builtin()
	for b.Loop() {
		if _, err := r.Parse("Integer(min=1, max=200)"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckReference(b *testing.B) {
	t, err := Builtin().Parse("Struct{data: Dataset, wait: Duration, mail: String(format=email)}")
	if err != nil {
		b.Fatal(err)
	}
	v := map[string]any{"data": "mnist@1", "wait": "1h30m", "mail": "ada@example.org"}
	for b.Loop() {
		if problems := t.Check(v, Env{}); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}
