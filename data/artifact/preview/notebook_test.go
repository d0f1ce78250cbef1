package preview

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
)

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func notebookOf(cells ...string) string {
	return `{"nbformat": 4, "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python"}}, "cells": [` + strings.Join(cells, ",") + `]}`
}

func TestNotebook(t *testing.T) {
	t.Parallel()
	text := notebookOf(
		`{"cell_type": "markdown", "source": ["# Title\n", "text"]}`,
		`{"cell_type": "code", "execution_count": 4, "source": "x = 1", "outputs": [
			{"output_type": "stream", "name": "stderr", "text": ["\u001b[31mred\u001b[0m\n"]},
			{"output_type": "display_data", "data": {"image/png": ["`+pixel[:40]+`\n", "`+pixel[40:]+`"], "text/plain": "<Figure>"}},
			{"output_type": "execute_result", "data": {"text/html": ["<b>", "x</b>"], "text/plain": "x"}},
			{"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["first", "\u001b[0;31mValueError\u001b[0m: no"]},
			{"output_type": "display_data", "data": {"image/png": "AAAA"}}, 5]}`,
		`{"cell_type": "raw", "source": 7}`, `[]`)
	n, err := ReadNotebook(fileOf([]byte(text)), 0)
	require.NoError(t, err)
	require.Equal(t, "Python 3", n.Kernel)
	require.EqualValues(t, 4, n.Total)
	require.Equal(t, "# Title\ntext", n.Cells[0].Source)
	out := n.Cells[1].Outputs
	require.Equal(t, CellOutput{Index: 0, Kind: "text", Stream: "stderr", Text: "red\n"}, out[0])
	require.Equal(t, pixel, out[1].Data)
	require.Equal(t, "<b>x</b>", out[2].HTML)
	require.Equal(t, "first\nValueError: no", out[3].Text)
	require.Equal(t, "The image is damaged.", out[4].Note)
	require.Equal(t, "This output is damaged.", out[5].Note)
	require.Equal(t, "This cell is damaged.", n.Cells[3].Note)

	html, err := NotebookHTML(fileOf([]byte(text)), 1, 2)
	require.NoError(t, err)
	require.Equal(t, "<b>x</b>", html)
	for _, at := range [][2]int64{{1, 0}, {1, 99}, {99, 0}, {-1, 0}, {0, -1}} {
		_, err := NotebookHTML(fileOf([]byte(text)), at[0], int(at[1]))
		require.True(t, apperr.Is(err, apperr.Invalid), at)
	}
}

func TestNotebookIsBounded(t *testing.T) {
	t.Parallel()
	cells := make([]string, 120)
	for i := range cells {
		cells[i] = fmt.Sprintf(`{"cell_type": "code", "source": "%d", "outputs": [{"output_type": "stream", "text": "%s"}]}`, i, strings.Repeat("x", 30<<10))
	}
	n, err := ReadNotebook(fileOf([]byte(notebookOf(cells...))), 100)
	require.NoError(t, err)
	require.Len(t, n.Cells, 20)
	require.Equal(t, "100", n.Cells[0].Source)
	require.Len(t, n.Cells[0].Outputs[0].Text, outputText)
	large, err := json.Marshal(strings.Repeat("y", NotebookBytes))
	require.NoError(t, err)
	for name, text := range map[string]string{"empty": "", "no JSON": "{", "old": `{"nbformat": 3}`, "large": notebookOf(string(large)), "deep": strings.Repeat("[", 1<<20)} {
		_, err := ReadNotebook(fileOf([]byte(text)), 0)
		require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", name, err)
	}
}

func FuzzNotebook(f *testing.F) {
	f.Add(notebookOf(`{"cell_type": "code", "source": ["a"], "outputs": [{"output_type": "display_data", "data": {"image/png": "`+pixel+`"}}]}`), int64(0))
	f.Add(`{"nbformat": 4, "cells": [null, 1, {}]}`, int64(-1))
	f.Fuzz(func(t *testing.T, text string, from int64) {
		n, err := ReadNotebook(fileOf([]byte(text)), from)
		if err != nil {
			require.True(t, apperr.Is(err, apperr.Invalid), "%v", err)
			return
		}
		require.LessOrEqual(t, len(n.Cells), NotebookCells)
	})
}
