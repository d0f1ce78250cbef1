package kube

import (
	"fmt"
	"regexp"
	"strings"
)

// ownPrefix is the prefix of namespace names in the tenancy tree.
const ownPrefix = "ff-"

// maxPrefix leaves room for the part that distinguishes projects.
const maxPrefix = 20

var prefixShape = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?-$`)

// CheckPrefix checks whether text can be the prefix of namespace names.
func CheckPrefix(text string) error {
	if len(text) > maxPrefix || !prefixShape.MatchString(text) {
		return fmt.Errorf("use at most %d lower-case letters, digits and hyphens, starting with a letter and ending with a hyphen, such as ff-", maxPrefix)
	}
	return nil
}

// NamespaceOf returns the name of a project's namespace in the cluster. Installations
// that share a cluster have different prefixes.
func (c Config) NamespaceOf(name string) string {
	prefix := c.Namespace
	if prefix == "" {
		prefix = ownPrefix
	}
	rest := strings.TrimPrefix(name, ownPrefix)
	const most = 63
	if room := most - len(prefix); len(rest) > room {
		// The end of the name is unique to each project.
		rest = strings.TrimLeft(rest[len(rest)-room:], "-")
	}
	return prefix + rest
}
