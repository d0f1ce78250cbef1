package main

import (
	"fmt"
	"strconv"
	"strings"
)

// benchCase is a graph whose nodes all run the same operator.
type benchCase struct {
	name     string
	summary  string
	nodes    int
	process  bool // /bin/true instead of noop
	document string
}

// workflow is the name of the case's definition.
func (c benchCase) workflow() string { return "bench." + strings.ToLower(c.name) }

// cases returns the measured graphs: chains for latency and for the cost of size, wide graphs for
// throughput, a large graph, and a fan-out that expands at run time.
func cases() []benchCase {
	var list []benchCase
	for _, process := range []bool{false, true} {
		for _, n := range []int{40, 400, 10_000} {
			list = append(list, newCase("C"+short(n), fmt.Sprintf("chain of %s nodes", grouped(n)), process, chain(n)))
		}
		list = append(list,
			newCase("F1k", "one node, and 1,000 side by side behind it", process, fanOut(1000)),
			newCase("D10k", "10,000 nodes in 100 layers, 30,000 edges", process, layered(100, 100, 3)),
			newForeach("F10k", 10_000, process),
		)
	}
	return list
}

func short(n int) string {
	if n >= 1000 {
		return fmt.Sprintf("%dk", n/1000)
	}
	return strconv.Itoa(n)
}

func grouped(n int) string {
	if n >= 1000 {
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	}
	return strconv.Itoa(n)
}

// kind is the operator of every node of a case, with the rest of its line.
func kind(process bool) (name, operator, more string) {
	if process {
		return "true", "command", ", code: {command: [/bin/true]}"
	}
	return "noop", "noop", ""
}

// newForeach writes a fan-out over n numbers, which creates its nodes when it starts.
func newForeach(shape string, n int, process bool) benchCase {
	name, operator, more := kind(process)
	c := benchCase{
		name: shape + "-foreach-" + name, summary: fmt.Sprintf("a fan-out over %s numbers", grouped(n)),
		nodes: n + 1, process: process,
	}
	c.document = fmt.Sprintf("name: %s\nversion: 1.0.0\noperators:\n  - {name: each, type: %s, foreach: {range: {from: 1, to: %d}}%s}\n",
		c.workflow(), operator, n, more)
	return c
}

// newCase writes the definition of a graph; dependencies[i] are the dependencies of node i.
func newCase(shape, summary string, process bool, dependencies [][]int) benchCase {
	name, operator, more := kind(process)
	c := benchCase{name: shape + "-" + name, summary: summary, nodes: len(dependencies), process: process}
	var doc strings.Builder
	fmt.Fprintf(&doc, "name: %s\nversion: 1.0.0\noperators:\n", c.workflow())
	for i, before := range dependencies {
		names := make([]string, len(before))
		for k, d := range before {
			names[k] = fmt.Sprintf("n%d", d)
		}
		fmt.Fprintf(&doc, "  - {name: n%d, type: %s, depends_on: [%s]%s}\n", i, operator, strings.Join(names, ", "), more)
	}
	c.document = doc.String()
	return c
}

func chain(n int) [][]int {
	dependencies := make([][]int, n)
	for i := 1; i < n; i++ {
		dependencies[i] = []int{i - 1}
	}
	return dependencies
}

func fanOut(n int) [][]int {
	dependencies := make([][]int, n+1)
	for i := range n {
		dependencies[i+1] = []int{0}
	}
	return dependencies
}

// layered connects each node with degree nodes of the layer before.
func layered(layers, width, degree int) [][]int {
	dependencies := make([][]int, layers*width)
	for layer := 1; layer < layers; layer++ {
		for i := range width {
			node := layer*width + i
			for k := range degree {
				dependencies[node] = append(dependencies[node], (layer-1)*width+(i*7+k*13)%width)
			}
		}
	}
	return dependencies
}
