//go:build !race

package dag

const slowdown = 1
