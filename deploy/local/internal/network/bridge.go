//go:build linux

package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Taken lists the prefixes that the host's addresses and routes use, the default routes left out.
func Taken() ([]netip.Prefix, error) {
	routes, err := netlink.RouteListFiltered(unix.AF_INET, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
	if err != nil {
		return nil, fmt.Errorf("read the host's routes: %w", err)
	}
	var taken []netip.Prefix
	for _, r := range routes {
		if r.Dst == nil {
			continue
		}
		addr, ok := netip.AddrFromSlice(r.Dst.IP)
		ones, _ := r.Dst.Mask.Size()
		if ok && ones > 0 {
			taken = append(taken, netip.PrefixFrom(addr.Unmap(), ones))
		}
	}
	return taken, nil
}

// CreateBridge makes the cluster's bridge with the host's address on it.
func (p Plan) CreateBridge() error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = p.Bridge
	bridge := &netlink.Bridge{LinkAttrs: attrs}
	if err := netlink.LinkAdd(bridge); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("create bridge %s: %w", p.Bridge, err)
	}
	// The alias is what a person sees in `ip link`; the name is only a digest.
	if err := netlink.LinkSetAlias(bridge, "trellis local cluster "+p.Cluster); err != nil {
		return fmt.Errorf("label bridge %s: %w", p.Bridge, err)
	}
	if err := setAddr(bridge, netip.PrefixFrom(p.Host, 24)); err != nil {
		return err
	}
	return up(bridge)
}

// Connect lays the cable between the bridge and the network namespace of process pid, where it appears as eth0,
// and the host's route to the node's pods.
func (p Plan) Connect(n Node, pid int) error {
	bridge, err := netlink.LinkByName(p.Bridge)
	if err != nil {
		return fmt.Errorf("find bridge %s: %w", p.Bridge, err)
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = n.Cable
	attrs.MasterIndex = bridge.Attrs().Index
	cable := &netlink.Veth{LinkAttrs: attrs, PeerName: "eth0", PeerNamespace: netlink.NsPid(pid)}
	if err := netlink.LinkAdd(cable); err != nil {
		return fmt.Errorf("lay cable %s to %s: %w", n.Cable, n.Name, err)
	}
	if err := up(cable); err != nil {
		return err
	}
	return route(bridge, n.Pods, n.Addr)
}

// Remove deletes the cluster's bridge and cables. What is not there is no error.
func Remove(cluster string) error {
	var errs []error
	for _, name := range Interfaces(cluster) {
		link, err := netlink.LinkByName(name)
		if err != nil {
			continue // a cable's other end took it along
		}
		if err := netlink.LinkDel(link); err != nil {
			errs = append(errs, fmt.Errorf("delete interface %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// Interfaces lists the cluster's interfaces that exist on the host.
func Interfaces(cluster string) []string {
	all, err := net.Interfaces()
	if err != nil {
		return nil
	}
	var names []string
	for _, i := range all {
		if i.Name == BridgeName(cluster) || strings.HasPrefix(i.Name, CablePrefix(cluster)) {
			names = append(names, i.Name)
		}
	}
	return names
}
