//go:build linux

package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
)

// Enter sets up the calling process's network namespace as that of node name: loopback, the node's address on
// eth0, the default route to the host, routes to the other nodes' pods, and forwarding for its own pods.
func (p Plan) Enter(name string) error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find loopback: %w", err)
	}
	eth, err := netlink.LinkByName("eth0")
	if err != nil {
		return fmt.Errorf("find the node's end of its veth pair: %w", err)
	}
	if err := errors.Join(up(lo), up(eth)); err != nil {
		return err
	}
	for _, n := range p.Nodes {
		if n.Name == name {
			err = setAddr(eth, netip.PrefixFrom(n.Addr, 24))
		}
	}
	if err != nil {
		return err
	}
	if err := route(eth, netip.PrefixFrom(netip.IPv4Unspecified(), 0), p.Host); err != nil {
		return err
	}
	for _, n := range p.Nodes {
		if n.Name == name {
			continue
		}
		if err := route(eth, n.Pods, n.Addr); err != nil {
			return err
		}
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)
}

func setAddr(link netlink.Link, at netip.Prefix) error {
	addr := &netlink.Addr{IPNet: ipNet(at)}
	if err := netlink.AddrReplace(link, addr); err != nil {
		return fmt.Errorf("give %s the address %s: %w", link.Attrs().Name, at, err)
	}
	return nil
}

func up(link netlink.Link) error {
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("bring %s up: %w", link.Attrs().Name, err)
	}
	return nil
}

func route(link netlink.Link, to netip.Prefix, via netip.Addr) error {
	r := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: ipNet(to), Gw: via.AsSlice()}
	if err := netlink.RouteReplace(r); err != nil {
		return fmt.Errorf("route %s via %s: %w", to, via, err)
	}
	return nil
}

// ipNet keeps the host part of an address, which netlink wants for addresses and ignores for masked routes.
func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}
}
