package storm_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/storm"
	"github.com/trellis-gpu/trellis/growth"
)

const (
	left  = growth.GPU("GPU-left")
	right = growth.GPU("GPU-right")
)

func given(share storm.Share) []storm.Given {
	return []storm.Given{{Share: share, At: 99 * time.Second}}
}

func said(began, ended float64, gpu growth.GPU, gib int) string {
	return fmt.Sprintf("%.2f %.2f %s %d\n", began, ended, gpu, gib*1024)
}

// calm is a round without a fault: three pods, of which two share a GPU and two follow one another on it.
func calm() storm.Evidence {
	e := storm.Evidence{
		Pods:  []storm.Pod{{Name: "a", Units: 12}, {Name: "b", Units: 12}, {Name: "c", Units: 16}},
		Fates: map[string]storm.Fate{}, Kubelet: map[growth.PodUID][]storm.Given{}, Bus: map[growth.PodUID][]storm.Given{},
		Memory: map[growth.GPU]growth.MiB{left: 24 * growth.GiB, right: 24 * growth.GiB},
	}
	times := map[string][2]float64{"a": {100, 110}, "b": {105, 120}, "c": {120, 130}}
	for _, p := range e.Pods {
		uid := growth.PodUID("uid-" + p.Name)
		e.Fates[p.Name] = storm.Fate{
			UID: uid, Node: "node-1", Well: true, Annotated: string(left), Said: said(times[p.Name][0], times[p.Name][1], left, p.Units),
		}
		share := storm.Share{left: growth.MiB(p.Units) * growth.GiB}
		e.Kubelet[uid], e.Bus[uid] = given(share), given(share)
	}
	return e
}

func TestJudge_WithoutAFault(t *testing.T) {
	require.Equal(t, storm.Findings{}, storm.Judge(calm()))
}

func TestJudge_IgnoresRecordsAfterTheEnd(t *testing.T) {
	e := calm()
	e.Kubelet["uid-b"] = append(e.Kubelet["uid-b"], storm.Given{Share: storm.Share{right: 12 * growth.GiB}, At: 120 * time.Second})
	e.Bus["uid-b"] = append(e.Bus["uid-b"], storm.Given{Share: storm.Share{right: 12 * growth.GiB}, At: 121 * time.Second})
	require.Equal(t, storm.Findings{}, storm.Judge(e))
}

// fault is planted into a round, which is judged then.
type fault struct {
	plant func(storm.Evidence)
	found func(storm.Findings) []string
	want  []string
}

func change(e storm.Evidence, pod string, how func(*storm.Fate)) {
	fate := e.Fates[pod]
	how(&fate)
	e.Fates[pod] = fate
}

func TestJudge_FindsEachFault(t *testing.T) {
	for name, tc := range faults {
		t.Run(name, func(t *testing.T) {
			e := calm()
			tc.plant(e)
			f := storm.Judge(e)
			require.Equal(t, tc.want, tc.found(f))
			others := 0
			for _, of := range []func(storm.Findings) []string{wrongGPU, overCommitted, lost, unjudged} {
				others += len(of(f))
			}
			require.Equal(t, len(tc.want), others, "%+v", f)
		})
	}
}

var faults = map[string]fault{
	"a container on another GPU than all sources recorded": {
		func(e storm.Evidence) {
			change(e, "a", func(f *storm.Fate) { f.Said = said(100, 110, right, 12) })
		},
		wrongGPU, []string{"a on node-1 had 12GiB of GPU-right, but kubelet recorded 12GiB of GPU-left, the bus recorded 12GiB of GPU-left, its annotation says \"GPU-left\""},
	},
	"kubelet's checkpoint alone has another GPU": {
		func(e storm.Evidence) { e.Kubelet["uid-b"] = given(storm.Share{right: 12 * growth.GiB}) },
		wrongGPU, []string{"b on node-1 had 12GiB of GPU-left, but kubelet recorded 12GiB of GPU-right"},
	},
	"kubelet has given a container's memory away and found it some more": {
		func(e storm.Evidence) {
			e.Kubelet["uid-b"] = append(e.Kubelet["uid-b"], storm.Given{Share: storm.Share{left: 12 * growth.GiB}, At: 119 * time.Second})
		},
		wrongGPU, []string{"b on node-1 had 12GiB of GPU-left, but kubelet recorded 12GiB of GPU-left later"},
	},
	"the bus has moved a container that runs": {
		func(e storm.Evidence) {
			e.Bus["uid-b"] = append(e.Bus["uid-b"], storm.Given{Share: storm.Share{right: 12 * growth.GiB}, At: 119 * time.Second})
		},
		wrongGPU, []string{"b on node-1 had 12GiB of GPU-left, but the bus recorded 12GiB of GPU-right later"},
	},
	"the bus alone has another size": {
		func(e storm.Evidence) { e.Bus["uid-b"] = given(storm.Share{left: 11 * growth.GiB}) },
		wrongGPU, []string{"b on node-1 had 12GiB of GPU-left, but the bus recorded 11GiB of GPU-left"},
	},
	"the annotation alone has another GPU": {
		func(e storm.Evidence) { change(e, "c", func(f *storm.Fate) { f.Annotated = string(right) }) },
		wrongGPU, []string{"c on node-1 had 16GiB of GPU-left, but its annotation says \"GPU-right\""},
	},
	"all agree on less than was asked for": {
		func(e storm.Evidence) {
			change(e, "c", func(f *storm.Fate) { f.Said = said(120, 130, left, 8) })
			e.Kubelet["uid-c"], e.Bus["uid-c"] = given(storm.Share{left: 8 * growth.GiB}), given(storm.Share{left: 8 * growth.GiB})
		},
		wrongGPU, []string{"c on node-1 had 8GiB of GPU-left, but it asked for 16GiB of one GPU"},
	},
	"three at once on one GPU": {
		func(e storm.Evidence) {
			change(e, "c", func(f *storm.Fate) { f.Said = said(109.99, 130, left, 16) })
		},
		overCommitted, []string{"GPU GPU-left has 24GiB, but a, b, c had 40GiB of it at one moment"},
	},
	"one hundredth of a second of two at once": {
		func(e storm.Evidence) {
			change(e, "b", func(f *storm.Fate) { f.Said = said(105, 120.01, left, 12) })
		},
		overCommitted, []string{"GPU GPU-left has 24GiB, but b, c had 28GiB of it at one moment"},
	},
	"a GPU that is none of the nodes'": {
		func(e storm.Evidence) {
			change(e, "c", func(f *storm.Fate) { f.Said, f.Annotated = said(120, 130, "GPU-void", 16), "GPU-void" })
			e.Kubelet["uid-c"], e.Bus["uid-c"] = given(storm.Share{"GPU-void": 16 * growth.GiB}), given(storm.Share{"GPU-void": 16 * growth.GiB})
		},
		overCommitted, []string{"GPU GPU-void has 0MiB, but c had 16GiB of it at one moment"},
	},
	"a pod that kubelet refused": {
		func(e storm.Evidence) {
			change(e, "b", func(f *storm.Fate) {
				f.Well, f.Said, f.Why = false, "", "Failed UnexpectedAdmissionError no healthy devices"
			})
		},
		lost, []string{"b (12 GiB, node-1): Failed UnexpectedAdmissionError no healthy devices"},
	},
	"a pod that was never bound": {
		func(e storm.Evidence) {
			change(e, "b", func(f *storm.Fate) { *f = storm.Fate{UID: "uid-b", Why: "Pending"} })
		},
		lost, []string{"b (12 GiB, bound nowhere): Pending"},
	},
	"a pod that was deleted": {
		func(e storm.Evidence) { delete(e.Fates, "a") },
		lost, []string{"a (12 GiB, bound nowhere): it is gone from the API server"},
	},
	"a container that did not say what it had": {
		func(e storm.Evidence) { change(e, "a", func(f *storm.Fate) { f.Said = "" }) },
		unjudged, []string{`a: the container left "": it has no GPU`},
	},
	"a container that kubelet's checkpoint was never seen with": {
		func(e storm.Evidence) { delete(e.Kubelet, "uid-a") },
		unjudged, []string{"a had 12GiB of GPU-left: kubelet's checkpoint never had it"},
	},
	"a container that the bus was never seen with": {
		func(e storm.Evidence) { delete(e.Bus, "uid-a") },
		unjudged, []string{"a had 12GiB of GPU-left: the bus never had an allocation for it"},
	},
}

func wrongGPU(f storm.Findings) []string      { return f.WrongGPU }
func overCommitted(f storm.Findings) []string { return f.OverCommitted }
func lost(f storm.Findings) []string          { return f.Lost }
func unjudged(f storm.Findings) []string      { return f.Unjudged }

func TestJudge_LostPodThatRan(t *testing.T) {
	e := calm()
	fate := e.Fates["a"]
	fate.Well, fate.Why, fate.Said = false, "Failed Error exit code 1", said(100, 110, right, 12)
	e.Fates["a"] = fate
	f := storm.Judge(e)
	require.Len(t, f.Lost, 1)
	require.Len(t, f.WrongGPU, 1)
}

func TestParseWitness(t *testing.T) {
	w, err := storm.ParseWitness("12.50 13.75 GPU-left,GPU-right 1024,2048\n")
	require.NoError(t, err)
	require.Equal(t, []growth.GPU{left, right}, w.GPUs)
	require.Equal(t, []growth.MiB{1024, 2048}, w.Memory)
	require.EqualValues(t, 1250, (w.Ended - w.Began).Milliseconds())
	for name, words := range map[string]string{
		"nothing": "", "no GPU": "12.5 13.5", "a clock that is none": "now 13 GPU-left 1024", "an end that is none": "12 then GPU-left 1024",
		"memory that is none": "12 13 GPU-left much", "backwards": "13 12 GPU-left 1024", "fewer memories than GPUs": "12 13 GPU-left,GPU-right 1024",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := storm.ParseWitness(words)
			require.Error(t, err)
		})
	}
}

func TestEvidence_Recreated(t *testing.T) {
	e := calm()
	require.Empty(t, e.Recreated())
	fate := e.Fates["b"]
	fate.Refusals = 2
	e.Fates["b"] = fate
	require.Equal(t, []string{"b 2×"}, e.Recreated())
	require.Empty(t, storm.Judge(e).Lost, "it ended well")
}
