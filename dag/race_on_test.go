//go:build race

package dag

// slowdown is what the race detector costs.
const slowdown = 20
