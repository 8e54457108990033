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

// Fate is what became of a pod, as the API server has it.
type Fate struct {
	UID growth.PodUID
	// Node is where it was bound, empty for nowhere.
	Node string
	// Well tells that it ran to its good end; Why what is known where it did not.
	Well bool
	Why  string
	// Refusals is how often kubelet refused it before and it was submitted again.
	Refusals int
	// Annotated is the annotation gpushare/gpu at the end, Said the container's termination message.
	Annotated, Said string
}

// Evidence is what was collected over a round.
type Evidence struct {
	Pods []Pod
	// Fates are by the pod's name; one that is not there is gone.
	Fates map[string]Fate
	// Kubelet is all that its checkpoint ever had for a pod, Ledger all that our allocations had, in turn. Neither is to change
	// while a container runs. Once it has ended it may: a kubelet that died before it could tell the API server of the end takes
	// the pod in once more, and finds the end again.
	Kubelet, Ledger map[growth.PodUID][]Given
	// Memory is what each GPU has.
	Memory map[growth.GPU]growth.MiB
}

// Given is a share that somebody was seen to have written down for a pod, and the machine's uptime then.
type Given struct {
	Share Share
	At    time.Duration
}

// Share is memory by GPU.
type Share map[growth.GPU]growth.MiB

// String is in order of the GPUs.
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

// Findings are sentences about what is wrong; none of each is good.
type Findings struct {
	WrongGPU      []string `json:"wrongGPU"`
	OverCommitted []string `json:"overCommitted"`
	Drift         []string `json:"drift"`
	Lost          []string `json:"lost"`
	// Untold are containers that ran, of which too little is known to judge them.
	Untold []string `json:"untold"`
}

// Resubmitted are the pods that were submitted again, each with how often.
func (e Evidence) Resubmitted() []string {
	names := []string{}
	for _, pod := range e.Pods {
		if times := e.Fates[pod.Name].Refusals; times > 0 {
			names = append(names, fmt.Sprintf("%s %d×", pod.Name, times))
		}
	}
	return names
}

// Judge says what is wrong with a round.
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
			f.Untold = append(f.Untold, fmt.Sprintf("%s: %v", pod.Name, err))
			continue
		}
		had := said.share()
		if untold := e.untold(fate.UID); untold != "" {
			f.Untold = append(f.Untold, fmt.Sprintf("%s had %s: %s", pod.Name, had, untold))
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

func (e Evidence) untold(pod growth.PodUID) string {
	switch {
	case e.Kubelet[pod] == nil:
		return "kubelet's checkpoint was never seen with it"
	case e.Ledger[pod] == nil:
		return "our ledger was never seen with it"
	}
	return ""
}

// disagreement says who believes something else than what the container had.
func (e Evidence) disagreement(pod Pod, fate Fate, had Share, ended time.Duration) []string {
	var wrong []string
	if asked := growth.MiB(pod.Units) * growth.GiB; len(had) != 1 || sum(had) != asked {
		wrong = append(wrong, fmt.Sprintf("it asked for %s of one GPU", asked))
	}
	for who, given := range map[string][]Given{"kubelet": e.Kubelet[fate.UID], "our ledger": e.Ledger[fate.UID]} {
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

// contradictions are what somebody had down for a container while it ran, and that it did not have. What was seen first
// counts in any case.
func contradictions(who string, given []Given, had Share, ended time.Duration) (wrong []string) {
	for i, g := range given {
		switch {
		case i > 0 && g.At >= ended:
		case i > 0:
			wrong = append(wrong, fmt.Sprintf("%s had it down for %s later on", who, g.Share))
		case !maps.Equal(g.Share, had):
			wrong = append(wrong, fmt.Sprintf("%s had it down for %s", who, g.Share))
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

// life is a container with what it had.
type life struct {
	name         string
	began, ended time.Duration
	had          Share
}

// overCommitted finds the moments at which those who lived had more of a GPU than it has. It is enough to look at the
// moments at which one began. The clock has hundredths: one that begins in that in which another ended comes after it.
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
