package memory

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// resident returns the KiB of the program's file that are mapped.
func resident(t *testing.T) (kib int) {
	t.Helper()
	path, err := os.Readlink("/proc/self/exe")
	require.NoError(t, err)
	text, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	inside := false
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if !strings.HasSuffix(fields[0], ":") {
			inside = strings.HasSuffix(strings.TrimSpace(line), " "+path)
		}
		if inside && fields[0] == "Rss:" {
			n, err := strconv.Atoi(fields[1])
			require.NoError(t, err)
			kib += n
		}
	}
	return kib
}

func TestReturnUnmapsTheProgram(t *testing.T) {
	ranges := program()
	require.NotEmpty(t, ranges)
	for _, m := range ranges {
		require.Greater(t, m.end, m.start)
	}
	before := resident(t)
	Return()
	require.Less(t, resident(t), before)
}

func TestParse(t *testing.T) {
	require.Equal(t, mapping{0x400000, 0x1a2b000}, parse("00400000-01a2b000"))
	for _, text := range []string{"", "00400000", "x-y", "00400000-"} {
		require.Equal(t, mapping{}, parse(text), text)
	}
}
