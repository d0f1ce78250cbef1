package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/ui"
)

// SecretStoresURL lists the secret stores of the installation; a POST registers one.
func SecretStoresURL() string { return "/admin/secret-stores" }

// NewSecretStoreURL is the form for a new store of a kind, or the choice of one for "".
func NewSecretStoreURL(kind string) string {
	if kind == "" {
		return SecretStoresURL() + "/new"
	}
	return SecretStoresURL() + "/new?kind=" + url.QueryEscape(kind)
}

// SecretStoreURL is the page of a store; a POST changes it.
func SecretStoreURL(name string) string { return SecretStoresURL() + "/" + url.PathEscape(name) }

// SecretStores is the list of the stores of the installation.
type SecretStores struct {
	Page
	Tabs   []ui.Tab
	Rows   []SecretStoreRow
	Notice string
}

// SecretStoreRow is a store without its secret fields.
type SecretStoreRow struct {
	Name, URL   string
	Kind        string // its label
	Description string
	Place       string
	Changed     string // "by Mei, 2 h ago"
	Used        string // "3 secrets", "" for none
}

// SecretStore is the page of one store.
type SecretStore struct {
	Page
	Row       SecretStoreRow
	Form      ConnectionForm
	Uses      []SecretStoreUse
	TestURL   string
	Probe     SecretStoreProbe
	DeleteURL string
	Notice    *AdminNotice
}

// SecretStoreUse is a secret that refers to the store.
type SecretStoreUse struct{ Project, Secret, Path string }

// SecretStoreProbe is the form of a test and its result.
type SecretStoreProbe struct {
	Path, Key, Version string
	PathHelp           string
	Done, OK           bool
	Detail             string
}

// NewSecretStore is the page for a new store.
type NewSecretStore struct {
	Page
	Kinds []ConnectionKind
	Form  *ConnectionForm // nil before a kind is chosen
}

func (r SecretStoreRow) used() string {
	if r.Used == "" {
		return "not used yet"
	}
	return r.Used
}

// probeFrame is the frame of a control of the test of a store.
func probeFrame(name, label, help string) ui.FormField {
	return ui.FormField{ID: "probe-" + name, Label: label, Help: help, Optional: true}
}
