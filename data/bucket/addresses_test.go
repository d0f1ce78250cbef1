package bucket_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/bucket"
)

func TestAddressesOfTheLink(t *testing.T) {
	t.Parallel()
	for _, a := range []string{
		"169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16",
		"192.0.0.192", "::ffff:100.100.100.200", "64:ff9b::169.254.169.254", "64:ff9b::6464:64c8", "64:ff9b:1::a9fe:a9fe",
		"64:ff9b:1:a9fe:a9:fe00::", "2002:a9fe:a9fe::1", "::169.254.169.254", "224.0.0.1", "ff02::1",
	} {
		require.True(t, bucket.IsLink(netip.MustParseAddr(a)), a)
	}
	for _, a := range []string{"10.0.0.7", "52.218.0.1", "100.100.100.201", "2a05:d050::1", "64:ff9b::8.8.8.8", "2002:808:808::1", "fd12::1", "127.0.0.1"} {
		require.False(t, bucket.IsLink(netip.MustParseAddr(a)), a)
	}
	for _, a := range []string{"127.0.0.1", "127.8.8.8", "::1", "0.0.0.0", "0.1.2.3", "::", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1", "2002:7f00:1::1"} {
		require.True(t, bucket.IsMachine(netip.MustParseAddr(a)), a)
	}
	for _, a := range []string{"10.0.0.7", "fd12::1", "64:ff9b::8.8.8.8", "169.254.169.254"} {
		require.False(t, bucket.IsMachine(netip.MustParseAddr(a)), a)
	}
}
