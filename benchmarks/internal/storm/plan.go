package storm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// A round has this many bursts, with pauses of up to maxPause between them.
	bursts, maxPause = 6, 15 * time.Second
	// standing is the maximum number of standing pods (see Pod), standingUnits their maximum size. All of them fit on the
	// GPUs together.
	standing, standingUnits = 8, 6
	// equalUnits is the size of pods in rounds of one size: 24 of them fill two nodes of two GPUs of 24 GiB.
	equalUnits = 4
	// minStay and maxStay bound the run time of the other pods. It is long enough for kubelet's checkpoint to be polled.
	minStay, maxStay = 1500 * time.Millisecond, 4 * time.Second
	// maxAway bounds the downtime of a killed kubelet.
	maxAway = 3 * time.Second
)

// mixedUnits are the sizes of pods in rounds of mixed sizes.
func mixedUnits() []int { return []int{1, 2, 3, 4, 5, 6, 8, 12} }

// Victim is a program to kill.
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
	// Bursts are groups of pods that are created at once, Pauses the pause before each burst.
	Bursts  [][]Pod         `json:"-"`
	Pauses  []time.Duration `json:"-"`
	Strikes []Strike        `json:"strikes"`
}

// Pod is a planned pod. A standing pod runs until the round opens the gate; any other pod runs for Stays.
type Pod struct {
	Name     string
	Units    int // GiB
	Stays    time.Duration
	Standing bool
}

// Strike is a planned kill of a victim, once After of the round's pods have ended. A kubelet is restarted after Away.
type Strike struct {
	Victim Victim        `json:"victim"`
	Node   string        `json:"node"`
	After  int           `json:"after"`
	Away   time.Duration `json:"-"`
}

// NewPlan draws a round. Rounds with an odd number have mixed sizes.
func NewPlan(seed uint64, round, pods int, nodes []string) Plan {
	random := rand.New(rand.NewPCG(seed, uint64(round)))
	p := Plan{Seed: seed, Mixed: round%2 == 1}
	all := make([]Pod, pods)
	standingPods := min(standing, pods/4)
	for i := range all {
		all[i] = p.pod(random, fmt.Sprintf("r%02d-%03d", round, i), i >= pods-standingPods)
	}
	for i := range bursts {
		p.Bursts = append(p.Bursts, all[i*pods/bursts:(i+1)*pods/bursts])
		p.Pauses = append(p.Pauses, between(random, 0, maxPause))
	}
	p.Pauses[0] = 0
	p.Strikes = strikes(random, pods-standingPods, nodes)
	return p
}

// strikes kills each victim once, in random order, each within an equal part of the round, so that the effects of one
// kill are mostly over before the next.
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

func (p Plan) pod(random *rand.Rand, name string, isStanding bool) Pod {
	pod := Pod{Name: name, Units: equalUnits, Stays: between(random, minStay, maxStay), Standing: isStanding}
	if p.Mixed {
		sizes := mixedUnits()
		pod.Units = sizes[random.IntN(len(sizes))]
	}
	if isStanding {
		pod.Units = min(pod.Units, standingUnits)
	}
	return pod
}

// Pods returns all pods of the round.
func (p Plan) Pods() []Pod { return slices.Concat(p.Bursts...) }

// Sizes describes the sizes of the pods.
func (p Plan) Sizes() string {
	if p.Mixed {
		return "mixed sizes"
	}
	return "equal sizes"
}

func between(random *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(random.Float64()*float64(to-from)).Round(time.Millisecond)
}
