package memo

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// byID gives artifacts a and b the same bytes.
func byID(ref map[string]any) (string, bool) {
	switch ref["$artifact"] {
	case "a", "b":
		return "same", true
	case "c":
		return "other", true
	}
	return "", false
}

func artifactOf(id string) any { return []any{map[string]any{"$artifact": id}} }

func TestKeysOfEqualWorkAreEqual(t *testing.T) {
	t.Parallel()
	code := sha256.Sum256([]byte("code"))
	key := func(version string, values map[string]any, whom ...string) [32]byte {
		return Of(code, version, values, byID).Key(whom...)
	}
	base := map[string]any{"lr": json.Number("0.1"), "data": artifactOf("a")}
	want := key("1", base, "flow", "train")
	require.Equal(t, want, key("1", map[string]any{"data": artifactOf("b"), "lr": json.Number("1e-1")}, "flow", "train"), "different spelling, different id, same bytes")
	for name, other := range map[string][32]byte{
		"value":   key("1", map[string]any{"lr": json.Number("0.2"), "data": artifactOf("a")}, "flow", "train"),
		"bytes":   key("1", map[string]any{"lr": json.Number("0.1"), "data": artifactOf("c")}, "flow", "train"),
		"version": key("2", base, "flow", "train"),
		"whom":    key("1", base, "flow", "test"),
		"split":   key("1", base, "flowtrain"),
		"absent":  key("1", map[string]any{"lr": json.Number("0.1")}, "flow", "train"),
		"code":    Of(sha256.Sum256([]byte("other")), "1", base, byID).Key("flow", "train"),
	} {
		require.NotEqual(t, want, other, name)
	}
}

func TestChangesSayWhatDiffers(t *testing.T) {
	t.Parallel()
	code := sha256.Sum256([]byte("code"))
	before := Of(code, "", map[string]any{"lr": json.Number("0.1"), "gone": true, "n": json.Number("3")}, byID)
	now := Of(sha256.Sum256(nil), "2", map[string]any{"lr": json.Number("0.2"), "fresh": "x", "n": json.Number("3.0")}, byID)
	require.Equal(t, []string{"code changed", "cache version none → 2", `fresh is new: "x"`, "gone was removed", "lr 0.1 → 0.2"}, Changes(before, now))
	require.Empty(t, Changes(now, now))
}

// TestSameIsEquality: two random values are the same exactly when they are equal as
// values, and a key differs exactly when Changes reports a difference.
func TestSameIsEquality(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	code := sha256.Sum256(nil)
	for range 20_000 {
		a, b := randomValue(rng, 3), randomValue(rng, 3)
		pa, pb := Of(code, "", map[string]any{"v": a}, byID), Of(code, "", map[string]any{"v": b}, byID)
		same := fmt.Sprint(a) == fmt.Sprint(b)
		require.Equal(t, same, Same(a, b), "%v and %v", a, b)
		require.Equal(t, same, pa.Key("x") == pb.Key("x"))
		require.Equal(t, same, len(Changes(pa, pb)) == 0)
	}
}

func randomValue(rng *rand.Rand, deep int) any {
	switch n := rng.IntN(6); {
	case n == 0 && deep > 0:
		return []any{randomValue(rng, deep-1)}
	case n == 1 && deep > 0:
		return map[string]any{string(rune('a' + rng.IntN(2))): randomValue(rng, deep-1)}
	case n == 2:
		return rng.IntN(2) == 0
	case n == 3:
		return "s" + string(rune('a'+rng.IntN(3)))
	}
	return json.Number(fmt.Sprint(rng.IntN(4)))
}
