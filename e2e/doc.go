// Package e2e tells the stories of users in a real browser, against the real
// binary with its embedded engines. Run them with `make e2e`.
package e2e
