// Package importance describes how much each parameter of a search matters for its objective. It is pure.
package importance

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Method names what Of computes.
const Method = "Permutation importance (Breiman 2001) in 8 random forests of 16 trees: how much worse the predictions for held-out runs become when the values of an input are shuffled. ± is the standard deviation between the forests. Correlation is Spearman's rank correlation."

// Limits of Of.
const (
	MinRuns = 8   // fewer say nothing
	MaxRuns = 500 // of more, evenly spaced ones are used
)

const (
	forests = 8
	trees   = 16
	minLeaf = 2
)

// Result is the importance of one parameter.
type Result struct {
	Share       float64 // of the importance of all parameters
	Deviation   float64 // standard deviation of Share between the forests
	Correlation float64 // Spearman's rank correlation with the objective; NaN without one
}

// Of returns the importance of each column of rows for the objective. Columns of values without an
// order have the index of the value. The result depends on nothing but its arguments.
func Of(rows [][]float64, objective []float64) []Result {
	if len(rows) == 0 {
		return nil
	}
	out := make([]Result, len(rows[0]))
	for j := range out {
		out[j].Correlation = Spearman(column(rows, j), objective)
	}
	if len(rows) > MaxRuns {
		rows, objective = spaced(rows), spaced(objective)
	}
	objective = scaled(objective)
	shares := make([][]float64, len(out))
	for f := range forests {
		losses := forest(rows, objective, rand.New(rand.NewPCG(uint64(f), 7))) //nolint:gosec // the same result each time
		total := 0.0
		for _, loss := range losses {
			total += loss
		}
		for j, loss := range losses {
			if total > 0 {
				loss /= total
			}
			shares[j] = append(shares[j], loss)
		}
	}
	for j := range out {
		out[j].Share, out[j].Deviation = spread(shares[j])
	}
	return out
}

// scaled returns values between 0 and 1 in the same proportions, whose squares do not overflow.
func scaled(values []float64) []float64 {
	largest := 0.0
	for _, v := range values {
		largest = max(largest, math.Abs(v))
	}
	out := make([]float64, len(values))
	if largest == 0 {
		return out
	}
	for i, v := range values {
		out[i] = v / largest
	}
	low, high := slices.Min(out), slices.Max(out)
	for i := range out {
		if out[i] -= low; high > low {
			out[i] /= high - low
		}
	}
	return out
}

func spaced[T any](list []T) []T {
	out := make([]T, MaxRuns)
	for i := range out {
		out[i] = list[i*len(list)/MaxRuns]
	}
	return out
}

func column(rows [][]float64, j int) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = r[j]
	}
	return out
}

func spread(values []float64) (mean, deviation float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v
	}
	mean /= n
	for _, v := range values {
		deviation += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(deviation / n)
}

// forest returns the mean increase of the squared error on the rows outside of each tree when the
// values of a column are exchanged among them, at least 0.
func forest(rows [][]float64, objective []float64, random *rand.Rand) []float64 {
	losses := make([]float64, len(rows[0]))
	for range trees {
		inside := make([]int, len(rows))
		used := make([]bool, len(rows))
		for i := range inside {
			inside[i] = random.IntN(len(rows))
			used[inside[i]] = true
		}
		var outside []int
		for i := range rows {
			if !used[i] {
				outside = append(outside, i)
			}
		}
		if len(outside) < 2 {
			continue
		}
		g := grower{rows: rows, objective: objective, random: random}
		root := g.grow(inside)
		before := g.errorOf(root, outside, -1, nil)
		for j := range losses {
			others := slices.Clone(outside)
			random.Shuffle(len(others), func(a, b int) { others[a], others[b] = others[b], others[a] })
			losses[j] += g.errorOf(root, outside, j, others) - before
		}
	}
	for j := range losses {
		losses[j] = max(losses[j], 0)
	}
	return losses
}

// node is a node of a regression tree.
type node struct {
	column     int // -1: a leaf
	limit      float64
	low, high  *node
	prediction float64
}

type grower struct {
	rows      [][]float64
	objective []float64
	random    *rand.Rand
}

// errorOf is the mean squared error of a tree. Column j takes its values from others.
func (g grower) errorOf(root *node, list []int, j int, others []int) float64 {
	sum := 0.0
	for k, i := range list {
		n := root
		for n.column >= 0 {
			from := i
			if n.column == j {
				from = others[k]
			}
			if g.rows[from][n.column] <= n.limit {
				n = n.low
			} else {
				n = n.high
			}
		}
		sum += (g.objective[i] - n.prediction) * (g.objective[i] - n.prediction)
	}
	return sum / float64(len(list))
}

// grow returns the tree of some rows. Each split considers a third of the columns, as Breiman
// proposes for regression, but at least two of them.
func (g grower) grow(list []int) *node {
	mean := 0.0
	for _, i := range list {
		mean += g.objective[i] / float64(len(list))
	}
	leaf := &node{column: -1, prediction: mean}
	if len(list) < 2*minLeaf {
		return leaf
	}
	columns := len(g.rows[0])
	tried := g.random.Perm(columns)[:max(min(2, columns), columns/3)]
	best, gain := node{column: -1}, 1e-12
	for _, j := range tried {
		if limit, found := g.split(list, j); found > gain {
			best, gain = node{column: j, limit: limit}, found
		}
	}
	if best.column < 0 {
		return leaf
	}
	var low, high []int
	for _, i := range list {
		if g.rows[i][best.column] <= best.limit {
			low = append(low, i)
		} else {
			high = append(high, i)
		}
	}
	best.low, best.high = g.grow(low), g.grow(high)
	return &best
}

// split returns where a column separates the rows best, and by how much that reduces the sum of the
// squared errors.
func (g grower) split(list []int, j int) (limit, gain float64) {
	ordered := slices.Clone(list)
	slices.SortFunc(ordered, func(a, b int) int {
		switch x, y := g.rows[a][j], g.rows[b][j]; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	n, total := float64(len(ordered)), 0.0
	for _, i := range ordered {
		total += g.objective[i]
	}
	left := 0.0
	for k := 1; k < len(ordered); k++ {
		left += g.objective[ordered[k-1]]
		x, y := g.rows[ordered[k-1]][j], g.rows[ordered[k]][j]
		if x == y || k < minLeaf || len(ordered)-k < minLeaf {
			continue
		}
		m := float64(k)
		found := left*left/m + (total-left)*(total-left)/(n-m) - total*total/n
		if found > gain {
			limit, gain = x/2+y/2, found
			if limit < x || limit >= y { // nothing is between them
				limit = x
			}
		}
	}
	return limit, gain
}

// Spearman returns the rank correlation of two lists, NaN if one of them is constant.
func Spearman(a, b []float64) float64 { return pearson(ranks(a), ranks(b)) }

// ranks are the ranks of values; equal ones share the mean of theirs.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case values[a] < values[b]:
			return -1
		case values[a] > values[b]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+to-1) / 2
		}
		from = to
	}
	return out
}

func pearson(a, b []float64) float64 {
	meanA, deviationA := spread(a)
	meanB, deviationB := spread(b)
	if deviationA == 0 || deviationB == 0 {
		return math.NaN()
	}
	sum := 0.0
	for i := range a {
		sum += (a[i] - meanA) * (b[i] - meanB) / float64(len(a))
	}
	return sum / (deviationA * deviationB)
}
