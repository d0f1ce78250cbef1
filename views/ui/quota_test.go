package ui_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/views/ui"
)

func words(b ui.QuotaBar) string {
	var texts []string
	for _, w := range b.Words {
		texts = append(texts, w.Text)
	}
	return strings.Join(texts, " · ")
}

func TestQuotaBars(t *testing.T) {
	t.Parallel()
	a100 := ui.Unit{Word: "A100"}
	tests := []struct {
		name, words, label string
		figures            ui.QuotaFigures
		used, borrowed     ui.Span
		over, lent         ui.Span
		guarantee, most    string
	}{
		{
			name: "within", words: "4 · of 6 · 2 free", label: "Vision, A100: 4 of 6 guaranteed in use, 0 borrowed, 0 lent, 2 free; maximum 8",
			figures: ui.QuotaFigures{Used: 4, Limit: 6, Most: 8, Free: 2, Scale: 40}, used: ui.Span{X: "0%", Width: "10%"}, guarantee: "15%", most: "20%",
		},
		{
			name: "borrowed", words: "14 · of 12 · +2 borrowed", label: "Vision, A100: 12 of 12 guaranteed in use, 2 borrowed, 0 lent, 0 free; maximum 20",
			figures: ui.QuotaFigures{Used: 14, Limit: 12, Most: 20, Borrowed: 2, Scale: 40}, used: ui.Span{X: "0%", Width: "30%"}, borrowed: ui.Span{X: "30%", Width: "5%"}, guarantee: "30%", most: "50%",
		},
		{
			name: "lent", words: "6 · of 10 · 2 lent · 2 free", label: "Vision, A100: 6 of 10 guaranteed in use, 0 borrowed, 2 lent, 2 free; maximum 10",
			figures: ui.QuotaFigures{Used: 6, Limit: 10, Most: 10, Lent: 2, Free: 2, Scale: 20}, used: ui.Span{X: "0%", Width: "30%"}, lent: ui.Span{X: "40%", Width: "10%"}, guarantee: "50%",
		},
		{
			name: "over a lowered limit", words: "10 · of 4 · +2 borrowed · 4 over", label: "Vision, A100: 4 of 4 guaranteed in use, 2 borrowed, 0 lent, 0 free, 4 over the maximum; maximum 6",
			figures: ui.QuotaFigures{Used: 10, Limit: 4, Most: 6, Borrowed: 6, Scale: 20}, used: ui.Span{X: "0%", Width: "20%"}, borrowed: ui.Span{X: "20%", Width: "10%"}, over: ui.Span{X: "30%", Width: "20%"}, guarantee: "20%", most: "30%",
		},
		{
			name: "no limit", words: "3 · used · no limit set", label: "Vision, A100: 3 used, no limit set",
			figures: ui.QuotaFigures{Used: 3, Limit: -1, Most: -1, Scale: 12}, used: ui.Span{X: "0%", Width: "25%"},
		},
		{
			name: "nothing to compare with", words: "3 · used · no limit set", label: "Vision, A100: 3 used, no limit set",
			figures: ui.QuotaFigures{Used: 3, Limit: -1, Most: -1},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.figures.Who, test.figures.Resource, test.figures.Unit = "Vision", "A100", a100
			b := ui.NewQuotaBar(test.figures)
			require.Equal(t, test.words, words(b))
			require.Equal(t, test.label, b.Label)
			require.Equal(t, []ui.Span{test.used, test.borrowed, test.over, test.lent}, []ui.Span{b.Used, b.Borrowed, b.Over, b.Lent})
			require.Equal(t, []string{test.guarantee, test.most}, []string{b.Guarantee, b.Most})
		})
	}
}

func TestAmountsInTheirUnit(t *testing.T) {
	t.Parallel()
	cores, memory := ui.Unit{Divisor: 1000}, ui.Unit{Divisor: 1024}
	require.Equal(t, "0.5", cores.Amount(500))
	require.Equal(t, "1,024", memory.Amount(1<<20))
	require.Equal(t, "1,234.5", cores.Amount(1_234_500))
	require.Equal(t, "7", ui.Unit{}.Amount(7))
	require.Equal(t, "< 0.01", memory.Amount(1))
	require.Equal(t, "0", memory.Amount(0))
	memory.Short = "GiB"
	bar := ui.NewQuotaBar(ui.QuotaFigures{Unit: memory, Used: 256, Limit: -1, Most: -1, Scale: 4096})
	require.Equal(t, "0.25 GiB · used · no limit set", words(bar))
	bar = ui.NewQuotaBar(ui.QuotaFigures{Unit: memory, Used: 256, Limit: 2048, Most: 2048, Scale: 4096, Free: 1792})
	require.Equal(t, "0.25 · of 2 GiB · 1.75 free", words(bar))
	cores.Word, cores.One = "CPU cores", "CPU core"
	require.Equal(t, "1 CPU core", cores.Quantity(1000))
	require.Equal(t, "0.5 CPU cores", cores.Quantity(500))
	require.Equal(t, "2 CPU cores", cores.Quantity(2000))
	cores.Short = "cores"
	require.Equal(t, "1 core", cores.Figure(1000))
	require.Equal(t, "0.5 cores", cores.Figure(500))
	require.Equal(t, "1 GiB", memory.Figure(1024))
	require.Equal(t, "1 A100", ui.Unit{Word: "A100"}.Quantity(1))
}
