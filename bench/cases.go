package main

import (
	"fmt"
	"strings"
)

// benchCase is a graph whose nodes all do the same.
type benchCase struct {
	name     string
	summary  string
	nodes    int
	process  bool // /bin/true instead of noop
	document string
}

// cases lists what is measured: chains for latency, a fan-out for throughput, a
// large graph for the cost of size.
func cases() []benchCase {
	var list []benchCase
	for _, process := range []bool{false, true} {
		for _, n := range []int{40, 400} {
			list = append(list, newCase(fmt.Sprintf("C%d", n), fmt.Sprintf("chain of %d nodes", n), process, chain(n)))
		}
		list = append(list,
			newCase("F1k", "one node, and 1,000 side by side behind it", process, fanOut(1000)),
			newCase("D10k", "10,000 nodes in 100 layers, 30,000 edges", process, layered(100, 100, 3)),
		)
	}
	return list
}

// newCase writes the definition of a graph: dependencies[i] are those of node i.
func newCase(shape, summary string, process bool, dependencies [][]int) benchCase {
	kind, code := "noop", ""
	if process {
		kind, code = "true", ", code: {command: [/bin/true]}"
	}
	c := benchCase{name: shape + "-" + kind, summary: summary, nodes: len(dependencies), process: process}
	operator := map[bool]string{false: "noop", true: "command"}[process]
	var doc strings.Builder
	fmt.Fprintf(&doc, "name: bench.%s\nversion: 1.0.0\noperators:\n", strings.ToLower(c.name))
	for i, before := range dependencies {
		names := make([]string, len(before))
		for k, d := range before {
			names[k] = fmt.Sprintf("n%d", d)
		}
		fmt.Fprintf(&doc, "  - {name: n%d, type: %s, depends_on: [%s]%s}\n", i, operator, strings.Join(names, ", "), code)
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
