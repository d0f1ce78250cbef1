package kube

import (
	"fmt"
	"regexp"
	"strings"
)

// ownPrefix begins the names of namespaces as the tenancy tree has them.
const ownPrefix = "ff-"

// maxPrefix leaves room for what tells projects apart.
const maxPrefix = 20

var prefixShape = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?-$`)

// CheckPrefix reports whether names of namespaces may begin with text.
func CheckPrefix(text string) error {
	if len(text) > maxPrefix || !prefixShape.MatchString(text) {
		return fmt.Errorf("write up to %d small letters, digits and hyphens, with a letter first and a hyphen last, such as ff-", maxPrefix)
	}
	return nil
}

// NamespaceOf returns the name that a project's namespace has in the cluster. Two
// installations in one cluster have prefixes of their own.
func (c Config) NamespaceOf(name string) string {
	prefix := c.Namespace
	if prefix == "" {
		prefix = ownPrefix
	}
	rest := strings.TrimPrefix(name, ownPrefix)
	const most = 63
	if room := most - len(prefix); len(rest) > room {
		// The end of the name is what no two projects share.
		rest = strings.TrimLeft(rest[len(rest)-room:], "-")
	}
	return prefix + rest
}
