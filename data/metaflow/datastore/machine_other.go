//go:build !linux

package datastore

// Machine identifies the machine where that is possible.
func Machine() string { return "" }
