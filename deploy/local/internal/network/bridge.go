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

// CreateBridge creates the cluster's bridge with the host's address.
func (p Plan) CreateBridge() error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = p.Bridge
	bridge := &netlink.Bridge{LinkAttrs: attrs}
	if err := netlink.LinkAdd(bridge); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("create bridge %s: %w", p.Bridge, err)
	}
	// `ip link` shows the alias; the name is only a digest.
	if err := netlink.LinkSetAlias(bridge, "trellis local cluster "+p.Cluster); err != nil {
		return fmt.Errorf("label bridge %s: %w", p.Bridge, err)
	}
	if err := setAddr(bridge, netip.PrefixFrom(p.Host, 24)); err != nil {
		return err
	}
	return up(bridge)
}

// Connect creates the veth pair between the bridge and the network namespace of process pid, where it is eth0, and the
// host's route to the node's pods.
func (p Plan) Connect(n Node, pid int) error {
	bridge, err := netlink.LinkByName(p.Bridge)
	if err != nil {
		return fmt.Errorf("find bridge %s: %w", p.Bridge, err)
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = n.Veth
	attrs.MasterIndex = bridge.Attrs().Index
	veth := &netlink.Veth{LinkAttrs: attrs, PeerName: "eth0", PeerNamespace: netlink.NsPid(pid)}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("create veth %s of %s: %w", n.Veth, n.Name, err)
	}
	if err := up(veth); err != nil {
		return err
	}
	return route(bridge, n.Pods, n.Addr)
}

// Remove deletes the cluster's bridge and veth pairs that exist.
func Remove(cluster string) error {
	var errs []error
	for _, name := range Interfaces(cluster) {
		link, err := netlink.LinkByName(name)
		if err != nil {
			continue // deleted with the other end of the pair
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
		if i.Name == BridgeName(cluster) || strings.HasPrefix(i.Name, VethPrefix(cluster)) {
			names = append(names, i.Name)
		}
	}
	return names
}
