package telemetry

import (
	"encoding/json"
	"testing"
)

func TestTextOfLine(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{
		``:                         "trained",
		`{}`:                       "trained",
		`{"rows":3,"lr":0.1}`:      "trained rows=3 lr=0.1",
		`{"rank":1,"who":"me"}`:    "trained who=me",
		`{"a":"two words","b":""}`: `trained a="two words" b=""`,
		`{"a":null,"b":[1,2]}`:     "trained a=null b=[1,2]",
		`{"a":`:                    "trained",
		`[1]`:                      "trained",
	} {
		if got := Text("sdk", "trained", json.RawMessage(fields), "rank"); got != want {
			t.Errorf("%s: got %q, want %q", fields, got, want)
		}
	}
	if got := Text("system", "environment", json.RawMessage(`{"packages":3}`), ""); got != "environment" {
		t.Errorf("a line of the system: %q", got)
	}
}
