package storm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Fate is the final state of a pod, from the API server.
type Fate struct {
	UID growth.PodUID
	// Node is the pod's node, or empty.
	Node string
	// Well reports whether the pod succeeded. Why is the reason if it did not.
	Well bool
	Why  string
	// Refusals is how often kubelet rejected the pod and it was recreated.
	Refusals int
	// Annotated is the final value of the annotation gpushare/gpu. Said is the container's termination message.
	Annotated, Said string
}

// Evidence is the data collected over a round.
type Evidence struct {
	Pods []Pod
	// Fates are indexed by the pod's name. A deleted pod has none.
	Fates map[string]Fate
	// Kubelet has every share that the checkpoint recorded for a pod, Bus every share of its allocation, in order. Neither
	// may change while the container runs. Both may change afterwards: a kubelet that was killed before it reported the
	// end of a container admits the pod again.
	Kubelet, Bus map[growth.PodUID][]Given
	// Memory is the size of each GPU.
	Memory map[growth.GPU]growth.MiB
}

// Given is a share that a source recorded for a pod, with the machine's uptime at that time.
type Given struct {
	Share Share
	At    time.Duration
}

// Share is memory by GPU.
type Share map[growth.GPU]growth.MiB

// String lists the GPUs in order.
func (s Share) String() string {
	if len(s) == 0 {
		return "nothing"
	}
	var parts []string
	for _, gpu := range slices.Sorted(maps.Keys(s)) {
		parts = append(parts, fmt.Sprintf("%s of %s", s[gpu], gpu))
	}
	return strings.Join(parts, " and ")
}

// Findings describe the faults of a round, by kind.
type Findings struct {
	WrongGPU      []string `json:"wrongGPU"`
	OverCommitted []string `json:"overCommitted"`
	Drift         []string `json:"drift"`
	Lost          []string `json:"lost"`
	// Unjudged are containers that ran, but that one of the sources does not know.
	Unjudged []string `json:"unjudged"`
}

// Recreated lists the pods that were recreated, each with the number of times.
func (e Evidence) Recreated() []string {
	names := []string{}
	for _, pod := range e.Pods {
		if times := e.Fates[pod.Name].Refusals; times > 0 {
			names = append(names, fmt.Sprintf("%s %d×", pod.Name, times))
		}
	}
	return names
}

// Judge lists the faults of a round.
func Judge(e Evidence) Findings {
	var f Findings
	var lives []life
	for _, pod := range e.Pods {
		fate, known := e.Fates[pod.Name]
		if !known || !fate.Well {
			why := fate.Why
			if !known {
				why = "it is gone from the API server"
			}
			f.Lost = append(f.Lost, fmt.Sprintf("%s (%d GiB, %s): %s", pod.Name, pod.Units, cmp.Or(fate.Node, "bound nowhere"), why))
			if fate.Said == "" {
				continue // it never ran
			}
		}
		said, err := ParseWitness(fate.Said)
		if err != nil {
			f.Unjudged = append(f.Unjudged, fmt.Sprintf("%s: %v", pod.Name, err))
			continue
		}
		had := said.share()
		if unjudged := e.unjudged(fate.UID); unjudged != "" {
			f.Unjudged = append(f.Unjudged, fmt.Sprintf("%s had %s: %s", pod.Name, had, unjudged))
		}
		if wrong := e.disagreement(pod, fate, had, said.Ended); len(wrong) > 0 {
			f.WrongGPU = append(f.WrongGPU, fmt.Sprintf("%s on %s had %s, but %s", pod.Name, fate.Node, had, strings.Join(wrong, ", ")))
		}
		lives = append(lives, life{pod.Name, said.Began, said.Ended, had})
	}
	f.OverCommitted = overCommitted(lives, e.Memory)
	return f
}

func (w Witness) share() Share {
	s := Share{}
	for i, gpu := range w.GPUs {
		s[gpu] += w.Memory[i]
	}
	return s
}

// unjudged returns which source does not know the pod, or "".
func (e Evidence) unjudged(pod growth.PodUID) string {
	switch {
	case e.Kubelet[pod] == nil:
		return "kubelet's checkpoint never had it"
	case e.Bus[pod] == nil:
		return "the bus never had an allocation for it"
	}
	return ""
}

// disagreement lists the sources that differ from what the container had.
func (e Evidence) disagreement(pod Pod, fate Fate, had Share, ended time.Duration) []string {
	var wrong []string
	if requested := growth.MiB(pod.Units) * growth.GiB; len(had) != 1 || sum(had) != requested {
		wrong = append(wrong, fmt.Sprintf("it asked for %s of one GPU", requested))
	}
	for who, given := range map[string][]Given{"kubelet": e.Kubelet[fate.UID], "the bus": e.Bus[fate.UID]} {
		wrong = append(wrong, contradictions(who, given, had, ended)...)
	}
	slices.Sort(wrong)
	var names []string
	for _, gpu := range slices.Sorted(maps.Keys(had)) {
		names = append(names, string(gpu))
	}
	if fate.Annotated != strings.Join(names, ",") {
		wrong = append(wrong, fmt.Sprintf("its annotation says %q", fate.Annotated))
	}
	return wrong
}

// contradictions lists the shares that a source recorded before the container ended and that differ from what the container
// had. The first record is always compared.
func contradictions(who string, given []Given, had Share, ended time.Duration) (wrong []string) {
	for i, g := range given {
		switch {
		case i > 0 && g.At >= ended:
		case i > 0:
			wrong = append(wrong, fmt.Sprintf("%s recorded %s later", who, g.Share))
		case !maps.Equal(g.Share, had):
			wrong = append(wrong, fmt.Sprintf("%s recorded %s", who, g.Share))
		}
	}
	return wrong
}

func sum(s Share) growth.MiB {
	total := growth.MiB(0)
	for _, m := range s {
		total += m
	}
	return total
}

// life is the time in which a container ran, and its GPU memory.
type life struct {
	name         string
	began, ended time.Duration
	had          Share
}

// overCommitted finds the GPUs whose running containers together had more memory than the GPU. It is sufficient to check
// the moments at which a container starts. The clock has a resolution of 10 ms. A container that starts in the 10 ms in
// which another one ends counts as later.
func overCommitted(lives []life, memory map[growth.GPU]growth.MiB) []string {
	worst := map[growth.GPU]growth.MiB{}
	who := map[growth.GPU][]string{}
	for _, at := range lives {
		held, by := Share{}, map[growth.GPU][]string{}
		for _, l := range lives {
			if l.began <= at.began && at.began < l.ended {
				for gpu, m := range l.had {
					held[gpu] += m
					by[gpu] = append(by[gpu], l.name)
				}
			}
		}
		for gpu, m := range held {
			if m > memory[gpu] && m > worst[gpu] {
				worst[gpu], who[gpu] = m, by[gpu]
			}
		}
	}
	var found []string
	for _, gpu := range slices.Sorted(maps.Keys(worst)) {
		found = append(found, fmt.Sprintf("GPU %s has %s, but %s had %s of it at one moment", gpu, memory[gpu], strings.Join(who[gpu], ", "), worst[gpu]))
	}
	return found
}
