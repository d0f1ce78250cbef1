// Package helm holds the tests of the chart beside it: what it renders, and that a
// real API server takes it.
package helm
