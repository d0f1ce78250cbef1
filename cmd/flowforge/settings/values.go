package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/platform/units"
)

// Switch is on or off; true, 1, false and 0 are other names.
type Switch bool

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Switch) UnmarshalText(text []byte) error {
	switch string(text) {
	case "on", "true", "1":
		*s = true
	case "off", "false", "0":
		*s = false
	default:
		return errors.New("write on or off")
	}
	return nil
}

// Names are separated by commas or spaces.
type Names []string

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *Names) UnmarshalText(text []byte) error {
	*n = fields(string(text))
	return nil
}

func fields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// Networks are networks and single addresses, separated by commas or spaces.
type Networks []netip.Prefix

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *Networks) UnmarshalText(text []byte) error {
	*n = nil
	for _, part := range fields(string(text)) {
		prefix, err := parsePrefix(part)
		if err != nil {
			return fmt.Errorf("%q is not an address or a network such as 10.0.0.0/8", part)
		}
		*n = append(*n, prefix)
	}
	return nil
}

// parsePrefix parses a network, or a single address as a network.
func parsePrefix(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	return netip.ParsePrefix(text)
}

// Blocks are CIDR blocks, separated by commas.
type Blocks []string

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Blocks) UnmarshalText(text []byte) error {
	*b = nil
	for part := range strings.SplitSeq(string(text), ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil {
			return fmt.Errorf("%q is not a CIDR block such as 10.0.0.0/8", part)
		}
		*b = append(*b, prefix.String())
	}
	return nil
}

// Hosts are hosts with optional ports, separated by commas.
type Hosts []string

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hosts) UnmarshalText(text []byte) error {
	*h = nil
	for part := range strings.SplitSeq(string(text), ",") {
		host := strings.TrimSpace(part)
		if u, err := url.Parse("//" + host); err != nil || host == "" || u.Host != host {
			return fmt.Errorf("%q is not a host such as registry.example.com:5000", host)
		}
		*h = append(*h, host)
	}
	return nil
}

// Labels are pairs name=value, separated by commas.
type Labels map[string]string

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Labels) UnmarshalText(text []byte) error {
	*l = Labels{}
	for part := range strings.SplitSeq(string(text), ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || name == "" {
			return fmt.Errorf("%q is not name=value", part)
		}
		(*l)[name] = value
	}
	return nil
}

// GPUTypes maps names of GPU types to values of the machines' label.
type GPUTypes pod.GPUTypes

// UnmarshalText implements encoding.TextUnmarshaler.
func (g *GPUTypes) UnmarshalText(text []byte) error {
	types, err := pod.ParseGPUTypes(string(text))
	*g = GPUTypes(types)
	return err
}

// TokenAccounts are service accounts of the cluster that may call the API.
type TokenAccounts []kube.TokenAccount

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *TokenAccounts) UnmarshalText(text []byte) error {
	accounts, err := kube.ParseTokenAccounts(string(text))
	*a = accounts
	return err
}

// Prefix is the beginning of the names of namespaces.
type Prefix string

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Prefix) UnmarshalText(text []byte) error {
	*p = Prefix(text)
	return kube.CheckPrefix(string(text))
}

// PodFields are fields of every pod.
type PodFields struct{ fields pod.Fields }

// Fields returns the parsed fields.
func (p PodFields) Fields() pod.Fields { return p.fields }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *PodFields) UnmarshalText(text []byte) error {
	fields, err := pod.ParseFields(text)
	p.fields = fields
	for _, f := range apperr.FieldsOf(err) {
		return fmt.Errorf("%s: %s", f.Path, f.Message)
	}
	return err
}

// Lifetime is a time span such as 12h or 30d. The zero value and "off" are no limit.
type Lifetime struct{ limit *time.Duration }

// Limit returns the time span, or nil for no limit.
func (l Lifetime) Limit() *time.Duration { return l.limit }

// Duration returns the time span, or 0 for no limit.
func (l Lifetime) Duration() time.Duration {
	if l.limit == nil {
		return 0
	}
	return *l.limit
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Lifetime) UnmarshalText(text []byte) error {
	if string(text) == "off" {
		l.limit = nil
		return nil
	}
	d, ok := workflow.ParseLifetime(string(text))
	if !ok {
		return fmt.Errorf("write a time span such as 12h or 30d")
	}
	l.limit = &d
	return nil
}

// Level is a level of the server's log.
type Level struct{ level slog.Level }

// Level implements slog.Leveler.
func (l Level) Level() slog.Level { return l.level }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Level) UnmarshalText(text []byte) error {
	if l.level.UnmarshalText(text) != nil {
		return fmt.Errorf("write DEBUG, INFO, WARN or ERROR")
	}
	return nil
}

func parseDuration(text string) (any, error) {
	d, err := units.ParseDuration(text)
	if err != nil {
		return nil, fmt.Errorf("write a duration such as 30s, 5m or 2h")
	}
	return d, nil
}

func isTrue(text string) bool { return strings.EqualFold(text, "true") }
