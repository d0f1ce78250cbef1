// Package e2e contains user stories in a real browser, against the real binary with its
// embedded engines. Run them with `make e2e`.
package e2e
