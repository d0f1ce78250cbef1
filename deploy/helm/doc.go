// Package helm contains the tests of the chart: its rendered manifests, and their use on a real
// API server.
package helm
