package network

import (
	"fmt"
	"net/netip"
)

const (
	firstBlock = 64  // 10.64.0.0/16
	blocks     = 192 // up to 10.255.0.0/16
	firstNode  = 11
	firstPods  = 64
	// MaxNodes is the maximum number of nodes of a plan.
	MaxNodes = 64
	// APIPort is where the API server listens on the bridge's address.
	APIPort = 6443
)

// Plan is every address and interface name of one cluster.
type Plan struct {
	Cluster  string       `json:"cluster"`
	Block    netip.Prefix `json:"block"`    // all of the cluster
	Bridge   string       `json:"bridge"`   // the interface on the host
	Host     netip.Addr   `json:"host"`     // the host's address on the bridge
	Pods     netip.Prefix `json:"pods"`     // holds every node's Pods
	Services netip.Prefix `json:"services"` // ClusterIPs
	Nodes    []Node       `json:"nodes"`
}

// Node is one node of a [Plan].
type Node struct {
	Name string       `json:"name"`
	Addr netip.Addr   `json:"addr"`
	Pods netip.Prefix `json:"pods"`
	Veth string       `json:"cable"` // the host's end of the pair
}

// NewPlan lays out a cluster with the number of nodes, outside the prefixes that are in use.
func NewPlan(cluster string, nodes int, taken []netip.Prefix) (Plan, error) {
	if err := ValidateName(cluster); err != nil {
		return Plan{}, err
	}
	if nodes < 1 || nodes > MaxNodes {
		return Plan{}, fmt.Errorf("%d nodes: a local cluster has 1 to %d", nodes, MaxNodes)
	}
	start := int(digest(cluster) % blocks)
	for k := range blocks {
		block := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(firstBlock + (start+k)%blocks), 0, 0}), 16)
		if !overlapsAny(block, taken) {
			return layout(cluster, nodes, block), nil
		}
	}
	return Plan{}, fmt.Errorf("no free /16 left in 10.64.0.0-10.255.255.255: this machine's routes and other clusters cover it all")
}

func overlapsAny(p netip.Prefix, taken []netip.Prefix) bool {
	for _, t := range taken {
		if p.Overlaps(t) {
			return true
		}
	}
	return false
}

func layout(cluster string, nodes int, block netip.Prefix) Plan {
	at := func(third, fourth byte) netip.Addr {
		b := block.Addr().As4()
		return netip.AddrFrom4([4]byte{b[0], b[1], third, fourth})
	}
	p := Plan{
		Cluster:  cluster,
		Block:    block,
		Bridge:   BridgeName(cluster),
		Host:     at(0, 1),
		Pods:     netip.PrefixFrom(at(firstPods, 0), 18),
		Services: netip.PrefixFrom(at(128, 0), 20),
	}
	for i := range nodes {
		p.Nodes = append(p.Nodes, Node{
			Name: fmt.Sprintf("node-%d", i+1),
			Addr: at(0, byte(firstNode+i)),
			Pods: netip.PrefixFrom(at(byte(firstPods+i), 0), 24),
			Veth: VethName(cluster, i+1),
		})
	}
	return p
}

// NodeNet is the bridge's own subnet.
func (p Plan) NodeNet() netip.Prefix { return netip.PrefixFrom(p.Host, 24).Masked() }

// APIService is the ClusterIP of the API server's own Service: the first of the range.
func (p Plan) APIService() netip.Addr { return p.Services.Addr().Next() }

// APIURL is where clients outside of pods reach the API server.
func (p Plan) APIURL() string { return fmt.Sprintf("https://%s:%d", p.Host, APIPort) }
