package bucket

import (
	"net/netip"
	"slices"
)

// metadata returns addresses outside of link-local ones where clouds serve credentials of machines.
func metadata() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("100.100.100.200/32"), // Alibaba Cloud
		netip.MustParsePrefix("168.63.129.16/32"),   // Azure
		netip.MustParsePrefix("192.0.0.192/32"),     // Oracle Cloud
		netip.MustParsePrefix("fd00:ec2::/32"),      // AWS
		netip.MustParsePrefix("fd20:ce::/32"),       // Google Cloud
	}
}

// IsLink reports whether an address belongs to the network link of this machine or to the metadata
// service of a cloud, also as an IPv4 address in an IPv6 one.
func IsLink(a netip.Addr) bool {
	return slices.ContainsFunc(Meanings(a), func(a netip.Addr) bool {
		return a.IsLinkLocalUnicast() || a.IsMulticast() || slices.ContainsFunc(metadata(), func(p netip.Prefix) bool { return p.Contains(a) })
	})
}

// IsMachine reports whether an address is this machine's own, as IsLink does.
func IsMachine(a netip.Addr) bool {
	this := netip.MustParsePrefix("0.0.0.0/8")
	return slices.ContainsFunc(Meanings(a), func(a netip.Addr) bool { return a.IsLoopback() || a.IsUnspecified() || this.Contains(a) })
}

// IsPrivate reports whether an address is not one of the public internet, as IsLink does.
func IsPrivate(a netip.Addr) bool {
	reserved := []netip.Prefix{
		netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
		netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("fec0::/10"),
	}
	return slices.ContainsFunc(Meanings(a), func(a netip.Addr) bool {
		return a.IsPrivate() || slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) })
	})
}

// embedding is a prefix of IPv6 addresses that contain IPv4 ones, with the positions of their bytes.
type embedding struct {
	prefix netip.Prefix
	at     [][4]int
}

func embeddings() []embedding {
	return []embedding{
		{netip.MustParsePrefix("::/96"), [][4]int{{12, 13, 14, 15}}},
		{netip.MustParsePrefix("64:ff9b::/96"), [][4]int{{12, 13, 14, 15}}},                                                   // NAT64, RFC 6052
		{netip.MustParsePrefix("64:ff9b:1::/48"), [][4]int{{6, 7, 9, 10}, {7, 9, 10, 11}, {9, 10, 11, 12}, {12, 13, 14, 15}}}, // NAT64, RFC 8215
		{netip.MustParsePrefix("2002::/16"), [][4]int{{2, 3, 4, 5}}},                                                          // 6to4
	}
}

// Meanings are an address and the IPv4 addresses in it.
func Meanings(a netip.Addr) []netip.Addr {
	a = a.WithZone("").Unmap()
	all := []netip.Addr{a}
	if a.Is4() || a.IsLoopback() || a.IsUnspecified() {
		return all
	}
	b := a.As16()
	for _, e := range embeddings() {
		if !e.prefix.Contains(a) {
			continue
		}
		for _, at := range e.at {
			all = append(all, netip.AddrFrom4([4]byte{b[at[0]], b[at[1]], b[at[2]], b[at[3]]}))
		}
	}
	return all
}
