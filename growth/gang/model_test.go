package gang_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gang"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// mutant is a scheduler that breaks one of the rules.
type mutant int

const (
	correct mutant = iota
	keepsRoom
	bindsParts
)

// cluster has gangs that arrive, and run for a while once all of their pods are bound. Reservations are written and pods bound
// one at a time, some later than others.
type cluster struct {
	dice   *rand.Rand
	mutant mutant
	now    time.Time
	nodes  map[growth.NodeName]placement.Node
	gangs  []*gang.Gang
	may    map[string]bool
	began  map[string]time.Time
	held   map[string]time.Time // since when a gang holds room without being bound
	wrong  string
}

func newCluster(seed uint64, m mutant) *cluster {
	return &cluster{
		dice:   rand.New(rand.NewPCG(seed, 3)),
		mutant: m,
		now:    start,
		nodes:  nodes(8, 8, 4),
		may:    map[string]bool{},
		began:  map[string]time.Time{},
		held:   map[string]time.Time{},
	}
}

func (c *cluster) arrive(n int) {
	size := 1 + c.dice.IntN(5) // 5 pods of 4 GiB fill the cluster
	g := job(fmt.Sprintf("g%d", n), c.now.Truncate(4*time.Second), size, 4, "a", "b", "c")
	c.gangs = append(c.gangs, &g)
}

func (c *cluster) decide() {
	var waiting []gang.Gang
	for _, g := range c.gangs {
		waiting = append(waiting, *g)
	}
	for _, d := range gang.DefaultLimits().Decide(c.now, waiting, c.nodes, placement.Spread{}) {
		for _, g := range c.gangs {
			if g.Name == d.Gang {
				c.apply(g, d)
			}
		}
	}
}

// apply releases, and reserves what there is room for.
func (c *cluster) apply(g *gang.Gang, d gang.Decision) {
	g.State, c.may[g.Name] = d.State, d.MayBind
	for i := range g.Pods {
		p := &g.Pods[i]
		if p.Node != "" && !p.Bound && d.Room[p.UID] != p.Node && c.mutant != keepsRoom {
			c.nodes[p.Node] = c.nodes[p.Node].Without(p.UID)
			p.Node, p.GPUs = "", nil
		}
		node := d.Room[p.UID]
		if p.Node != "" || node == "" {
			continue
		}
		choice, status := placement.Place(c.nodes[node], p.Request, placement.Spread{})
		if !status.Fits() || c.dice.IntN(8) == 0 {
			continue // a later gang has not released it yet, or another replica was faster
		}
		c.nodes[node], _ = c.nodes[node].With(p.UID, choice.GPUs)
		p.Node, p.GPUs = node, choice.GPUs
	}
}

// bind binds some pods that have their room, as far as they may be.
func (c *cluster) bind() {
	for _, g := range c.gangs {
		reserved, bound := 0, 0
		for _, p := range g.Pods {
			if p.Node != "" {
				reserved++
			}
		}
		may := c.may[g.Name] && (reserved == len(g.Pods) || c.isBound(g)) || c.mutant == bindsParts
		for i := range g.Pods {
			p := &g.Pods[i]
			if !p.Bound && p.Node != "" && may && c.dice.IntN(3) > 0 {
				p.Bound = true
				if reserved < len(g.Pods) {
					c.wrong = g.Name + " is bound in part, and the rest of it has no room"
				}
			}
			if p.Bound {
				bound++
			}
		}
		if bound == len(g.Pods) && c.began[g.Name].IsZero() {
			c.began[g.Name] = c.now
		}
	}
}

func (c *cluster) isBound(g *gang.Gang) bool {
	for _, p := range g.Pods {
		if p.Bound {
			return true
		}
	}
	return false
}

// end ends gangs that have run for a while, and checks how long the others hold room.
func (c *cluster) end() {
	var left []*gang.Gang
	for _, g := range c.gangs {
		holds := false
		for _, p := range g.Pods {
			holds = holds || p.Node != ""
		}
		if !holds || c.isBound(g) {
			delete(c.held, g.Name)
		} else if c.held[g.Name].IsZero() {
			c.held[g.Name] = c.now
		}
		if since := c.held[g.Name]; !since.IsZero() && c.now.Sub(since) > 2*gang.DefaultLimits().Hold+30*time.Second {
			c.wrong = g.Name + " holds room without a limit"
		}
		if began := c.began[g.Name]; !began.IsZero() && c.now.Sub(began) > 4*time.Minute && c.dice.IntN(30) == 0 {
			for _, p := range g.Pods {
				c.nodes[p.Node] = c.nodes[p.Node].Without(p.UID)
			}
			continue
		}
		left = append(left, g)
	}
	c.gangs = left
}

// gangs is the number of gangs that arrive.
const gangs = 8

// run lets gangs arrive, and waits until all have run. It returns what went wrong.
func run(seed uint64, m mutant) string {
	c := newCluster(seed, m)
	arrived := 0
	for range 2000 {
		c.now = c.now.Add(time.Second * time.Duration(2+c.dice.IntN(4)))
		if arrived < gangs && c.dice.IntN(6) == 0 {
			c.arrive(arrived)
			arrived++
		}
		c.decide()
		c.bind()
		c.end()
		for _, n := range c.nodes {
			if n.OverCommitted() > 0 {
				return "a GPU is over-committed"
			}
		}
		if c.wrong != "" {
			return c.wrong
		}
		if arrived == gangs && len(c.gangs) == 0 {
			return ""
		}
	}
	return "gangs block one another"
}

func TestDecide_ModelOfACluster(t *testing.T) {
	for seed := range uint64(300) {
		require.Empty(t, run(seed, correct), "seed %d", seed)
	}
	for m, want := range map[mutant]string{keepsRoom: "g", bindsParts: "is bound in part"} {
		found := ""
		for seed := uint64(0); found == "" && seed < 100; seed++ {
			found = run(seed, m)
		}
		require.Contains(t, found, want)
	}
}
