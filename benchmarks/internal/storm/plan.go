package storm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// bursts are so many a round, with pauses of up to so long in between.
	bursts, maxPause = 6, 15 * time.Second
	// standing are the last pods of a round, so many at most, each of so many units at most: they always fit beside one another.
	standing, standingUnits = 8, 6
	// equalUnits is the size of pods in rounds of one size: 24 of them fill two nodes of two GPUs of 24 GiB.
	equalUnits = 4
	// minStay and maxStay bound how long a container that is not standing runs: long enough to be seen.
	minStay, maxStay = 1500 * time.Millisecond, 4 * time.Second
	// maxAway is how long a killed kubelet may stay away.
	maxAway = 3 * time.Second
)

// mixedUnits are the sizes of the other rounds.
func mixedUnits() []int { return []int{1, 2, 3, 4, 5, 6, 8, 12} }

// Victim is what is killed.
type Victim string

// The victims.
const (
	Kubelet Victim = "kubelet"
	Plugin  Victim = "deviceplugin"
)

// Plan is one round.
type Plan struct {
	Seed  uint64 `json:"seed"`
	Mixed bool   `json:"mixed"`
	// Bursts are the pods that arrive at one moment, Pauses the time before each.
	Bursts  [][]Pod         `json:"-"`
	Pauses  []time.Duration `json:"-"`
	Strikes []Strike        `json:"strikes"`
}

// Pod is one pod to come. A standing one stays until it is let go.
type Pod struct {
	Name     string
	Units    int // GiB
	Stays    time.Duration
	Standing bool
}

// Strike is one kill to come, once so many of the round's pods have ended. A kubelet stays away for a while.
type Strike struct {
	Victim Victim        `json:"victim"`
	Node   string        `json:"node"`
	After  int           `json:"after"`
	Away   time.Duration `json:"-"`
}

// NewPlan draws a round. Rounds with an odd number are of mixed sizes.
func NewPlan(seed uint64, round, pods int, nodes []string) Plan {
	random := rand.New(rand.NewPCG(seed, uint64(round)))
	p := Plan{Seed: seed, Mixed: round%2 == 1}
	all := make([]Pod, pods)
	stand := min(standing, pods/4)
	for i := range all {
		all[i] = p.pod(random, fmt.Sprintf("r%02d-%03d", round, i), i >= pods-stand)
	}
	for i := range bursts {
		p.Bursts = append(p.Bursts, all[i*pods/bursts:(i+1)*pods/bursts])
		p.Pauses = append(p.Pauses, between(random, 0, maxPause))
	}
	p.Pauses[0] = 0
	p.Strikes = strikes(random, pods-stand, nodes)
	return p
}

// strikes kills each victim once, in an order that is drawn, at a moment within an equal part of the pods that end: what one
// kill brings about is mostly over when the next one comes.
func strikes(random *rand.Rand, ends int, nodes []string) []Strike {
	var all []Strike
	for _, node := range nodes {
		all = append(all, Strike{Victim: Kubelet, Node: node}, Strike{Victim: Plugin, Node: node})
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i := range all {
		from, to := i*ends/len(all), (i+1)*ends/len(all)
		all[i].After, all[i].Away = from+random.IntN(max(1, (to-from)/2)), between(random, 0, maxAway)
	}
	return all
}

func (p Plan) pod(random *rand.Rand, name string, stands bool) Pod {
	pod := Pod{Name: name, Units: equalUnits, Stays: between(random, minStay, maxStay), Standing: stands}
	if p.Mixed {
		sizes := mixedUnits()
		pod.Units = sizes[random.IntN(len(sizes))]
	}
	if stands {
		pod.Units = min(pod.Units, standingUnits)
	}
	return pod
}

// Pods are all of the round.
func (p Plan) Pods() []Pod { return slices.Concat(p.Bursts...) }

// Sizes says it for people.
func (p Plan) Sizes() string {
	if p.Mixed {
		return "mixed sizes"
	}
	return "equal sizes"
}

func between(random *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(random.Float64()*float64(to-from)).Round(time.Millisecond)
}
