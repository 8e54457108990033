package network

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValidateName_Form(t *testing.T) {
	tests := map[string]struct {
		name string
		want string // part of the error; empty: valid
	}{
		"plain":             {"trellis", ""},
		"one letter":        {"a", ""},
		"digits and dashes": {"run-7-b", ""},
		"longest":           {strings.Repeat("a", 24), ""},
		"empty":             {"", "needs a name"},
		"too long":          {strings.Repeat("a", 25), "at most 24"},
		"upper case":        {"Trellis", "lower-case"},
		"leading digit":     {"1a", "lower-case"},
		"trailing dash":     {"a-", "lower-case"},
		"path":              {"../x", "lower-case"},
		"newline":           {"a\n", "lower-case"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := ValidateName(tc.name)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestNewPlan_DependsOnTheNameOnly(t *testing.T) {
	a, err := NewPlan("trellis", 3, nil)
	require.NoError(t, err)
	again, err := NewPlan("trellis", 3, nil)
	require.NoError(t, err)
	require.Equal(t, a, again)

	b, err := NewPlan("other", 3, nil)
	require.NoError(t, err)
	require.False(t, a.Block.Overlaps(b.Block))
	require.NotEqual(t, a.Bridge, b.Bridge)
	require.NotEqual(t, a.Nodes[0].Veth, b.Nodes[0].Veth)
}

func TestNewPlan_AvoidsUsedPrefixes(t *testing.T) {
	first, err := NewPlan("trellis", 1, nil)
	require.NoError(t, err)

	second, err := NewPlan("trellis", 1, []netip.Prefix{first.Block})
	require.NoError(t, err)
	require.False(t, first.Block.Overlaps(second.Block))

	inside := netip.PrefixFrom(first.Nodes[0].Addr, 32)
	third, err := NewPlan("trellis", 1, []netip.Prefix{inside})
	require.NoError(t, err)
	require.Equal(t, second.Block, third.Block, "one taken address rules out the whole block")

	_, err = NewPlan("trellis", 1, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")})
	require.ErrorContains(t, err, "no free /16")
}

func TestNewPlan_PartsAreDisjointAndInsideTheBlock(t *testing.T) {
	p, err := NewPlan("trellis", MaxNodes, nil)
	require.NoError(t, err)

	require.True(t, p.NodeNet().Contains(p.Host))
	require.True(t, p.Services.Contains(p.APIService()))
	parts := []netip.Prefix{p.NodeNet(), p.Services}
	for _, n := range p.Nodes {
		require.True(t, p.NodeNet().Contains(n.Addr))
		require.NotEqual(t, p.Host, n.Addr)
		require.True(t, p.Pods.Contains(n.Pods.Addr()))
		require.LessOrEqual(t, len(n.Veth), 15, "the kernel's limit for interface names")
		require.True(t, strings.HasPrefix(n.Veth, VethPrefix("trellis")))
		parts = append(parts, n.Pods)
	}
	for i, a := range parts {
		require.True(t, p.Block.Overlaps(a) && p.Block.Bits() < a.Bits())
		for _, b := range parts[i+1:] {
			require.False(t, a.Overlaps(b), "%s and %s", a, b)
		}
	}
}

func TestNewPlan_RefusesInvalidNodeCounts(t *testing.T) {
	for _, n := range []int{-1, 0, MaxNodes + 1} {
		_, err := NewPlan("trellis", n, nil)
		require.ErrorContains(t, err, "1 to 64")
	}
}
