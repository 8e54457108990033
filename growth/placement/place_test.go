package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

const gib = growth.GiB

// asks is a pod with one container per entry of units, at a unit of 1 GiB.
func asks(memory growth.MiB, count int, units ...int) placement.Request {
	r := placement.Request{Memory: memory, Count: count}
	for i, u := range units {
		r.Containers = append(r.Containers, placement.Container{Name: string(rune('a' + i)), Units: u})
	}
	return r
}

// gpu is a healthy GPU of 24 GiB on which young, busy jobs hold memory.
func gpu(uuid growth.GPU, held ...growth.MiB) placement.GPU {
	g := placement.GPU{UUID: uuid, Memory: 24 * gib, Healthy: true}
	for i, m := range held {
		g.Residents = append(g.Residents, placement.Resident{Pod: growth.PodUID(rune('p' + i)), Memory: m, Growth: 1, Activity: 1})
	}
	return g
}

func node(gpus ...placement.GPU) placement.Node {
	for i := range gpus {
		gpus[i].Index = i
	}
	return placement.Node{Name: "n", Unit: gib, GPUs: gpus}
}

func TestFit(t *testing.T) {
	ill := placement.GPU{UUID: "GPU-b", Memory: 24 * gib}
	small := placement.GPU{UUID: "GPU-b", Memory: 8 * gib, Healthy: true}
	for name, tc := range map[string]struct {
		node     placement.Node
		request  placement.Request
		reason   string
		hopeless bool
	}{
		"an empty GPU has room": {node: node(gpu("GPU-a")), request: asks(8*gib, 1, 8)},
		"the last GiB fits":     {node: node(gpu("GPU-a", 23*gib)), request: asks(gib, 1, 1)},
		"a crowded node": {
			node: node(gpu("GPU-a", 20*gib), gpu("GPU-b", 16*gib)), request: asks(12*gib, 1, 12),
			reason: "GPU memory: 12GiB asked, largest free share 8GiB on gpu-1",
		},
		"an over-committed GPU has no memory rather than a lot of it": {
			node: node(gpu("GPU-a", 30*gib)), request: asks(gib, 1, 1),
			reason: "GPU memory: 1GiB asked, largest free share 0MiB on gpu-0",
		},
		"more than any GPU has": {
			node: node(gpu("GPU-a"), gpu("GPU-b")), request: asks(80*gib, 1, 80),
			reason: "GPU memory: 80GiB asked, the largest GPU has 24GiB", hopeless: true,
		},
		"free memory on an unhealthy GPU does not count": {
			node: node(gpu("GPU-a", 20*gib), ill), request: asks(8*gib, 1, 8),
			reason: "GPU memory: 8GiB asked, largest free share 4GiB on gpu-0",
		},
		"all are unhealthy": {
			node: node(ill), request: asks(8*gib, 1, 8), reason: "GPUs: 1 asked, 0 of 1 are healthy", hopeless: true,
		},
		"two GPUs on a node of one": {
			node: node(gpu("GPU-a")), request: asks(8*gib, 2, 16), reason: "GPUs: 2 asked, the node has 1", hopeless: true,
		},
		"two GPUs, one of which is too small": {
			node: node(gpu("GPU-a"), small), request: asks(12*gib, 2, 24),
			reason: "GPU memory: 12GiB asked on each of 2 GPUs, only 1 of 2 are that large", hopeless: true,
		},
		"two GPUs, one of which is crowded": {
			node: node(gpu("GPU-a"), gpu("GPU-b", 20*gib)), request: asks(8*gib, 2, 16),
			reason: "GPU memory: 8GiB asked on each of 2 GPUs, too few of 2 have it free",
		},
		"a node without GPUs": {node: node(), request: asks(gib, 1, 1), reason: "the node has no GPU", hopeless: true},
		"containers of one pod hold their sum": {
			node: node(gpu("GPU-a", 12*gib)), request: asks(gib, 1, 8, 8),
			reason: "GPU memory: 16GiB asked, largest free share 12GiB on gpu-0",
		},
		"no limit": {
			node: node(gpu("GPU-a")), request: asks(8*gib, 1),
			reason: "no container has a limit on GPU memory: is Trellis's admission policy installed?", hopeless: true,
		},
		"limits in another unit than the node's": {
			node: placement.Node{Unit: 512, GPUs: []placement.GPU{gpu("GPU-a")}}, request: asks(8*gib, 1, 8),
			reason:   "GPU memory: 8GiB asked, but the containers' limits are 8 units of 512MiB: the admission policy and the node disagree about the unit",
			hopeless: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			misfit := placement.Fit(tc.node, tc.request)
			require.Equal(t, placement.Status{Reason: tc.reason, Unresolvable: tc.hopeless}, misfit)
			_, again := placement.Place(tc.node, tc.request, placement.Spread{})
			require.Equal(t, misfit, again, "Place and Fit agree")
		})
	}
}

func TestUnitsOfARequest(t *testing.T) {
	for name, tc := range map[string]struct {
		request placement.Request
		want    growth.MiB
	}{
		"rounded up to a unit":           {asks(500, 1, 1), gib},
		"split over GPUs, rounded up":    {asks(2*gib, 2, 5), 3 * gib},
		"containers add up":              {asks(gib, 1, 2, 3), 5 * gib},
		"init containers pass theirs on": {placement.Request{Memory: gib, Count: 1, Containers: []placement.Container{{Units: 6, Role: placement.Init}, {Units: 4}}}, 6 * gib},
		"sidecars keep theirs":           {placement.Request{Memory: gib, Count: 1, Containers: []placement.Container{{Units: 2, Role: placement.Sidecar}, {Units: 3, Role: placement.Init}, {Units: 4}}}, 6 * gib},
	} {
		t.Run(name, func(t *testing.T) {
			got, misfit := tc.request.MemoryPerGPU(gib)
			require.True(t, misfit.Fits(), misfit.Reason)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestPlace(t *testing.T) {
	converged := gpu("GPU-b")
	converged.Residents = []placement.Resident{{Pod: "old", Memory: 4 * gib, Growth: 0.02, Activity: 1}}
	starved := gpu("GPU-c")
	starved.Residents = []placement.Resident{{Pod: "old", Memory: 4 * gib, Growth: 1, Activity: 0.1}}
	watching := gpu("GPU-a", 2*gib, 2*gib)
	watching.Residents[0].Category, watching.Residents[1].Category = growth.Watching, growth.Converged
	for name, tc := range map[string]struct {
		policy string
		gpus   []placement.GPU
		count  int
		want   []growth.GPU
		score  float64
	}{
		"growth: an empty GPU is the best there is":                                  {"growth", []placement.GPU{gpu("GPU-a", 4*gib), gpu("GPU-b")}, 1, []growth.GPU{"GPU-b"}, 1},
		"growth: rather beside a converged job than a growing one":                   {"growth", []placement.GPU{gpu("GPU-a", 4*gib), converged}, 1, []growth.GPU{"GPU-b"}, 0.679},
		"growth: a job that waits for data leaves the GPU free":                      {"growth", []placement.GPU{gpu("GPU-a", 4*gib), starved}, 1, []growth.GPU{"GPU-c"}, 0.912},
		"growth: one growing job beside it":                                          {"growth", []placement.GPU{gpu("GPU-a", 4*gib)}, 1, []growth.GPU{"GPU-a"}, 0.370},
		"growth: two growing jobs beside it":                                         {"growth", []placement.GPU{gpu("GPU-a", 4*gib, 4*gib)}, 1, []growth.GPU{"GPU-a"}, 0.193},
		"growth: ties go by name":                                                    {"growth", []placement.GPU{gpu("GPU-a"), gpu("GPU-b")}, 1, []growth.GPU{"GPU-a"}, 1},
		"growth: two GPUs, the better two":                                           {"growth", []placement.GPU{gpu("GPU-a", 4*gib), gpu("GPU-b"), gpu("GPU-c")}, 2, []growth.GPU{"GPU-b", "GPU-c"}, 1},
		"specon: one that progresses (2) before a watched and a converged one (2.5)": {"specon", []placement.GPU{watching, gpu("GPU-b", 4*gib)}, 1, []growth.GPU{"GPU-b"}, 0.5},
		"specon: a watched and a converged one (2.5) before two that progress (4)":   {"specon", []placement.GPU{watching, gpu("GPU-b", gib, gib)}, 1, []growth.GPU{"GPU-a"}, 0.444},
		"specon: of equal counts the one with more free memory":                      {"specon", []placement.GPU{gpu("GPU-a", 5*gib), gpu("GPU-b", 4*gib)}, 1, []growth.GPU{"GPU-b"}, 0.5},
		"iadeep: an idle GPU at once":                                                {"iadeep", []placement.GPU{converged, gpu("GPU-c")}, 1, []growth.GPU{"GPU-c"}, 1},
		"iadeep: what still learns plays no part":                                    {"iadeep", []placement.GPU{gpu("GPU-a", 4*gib), converged}, 1, []growth.GPU{"GPU-a"}, 0.521},
		"iadeep: rather beside one that waits for data":                              {"iadeep", []placement.GPU{gpu("GPU-a", 4*gib), starved}, 1, []growth.GPU{"GPU-c"}, 0.916},
		"binpack: the fullest":                                                       {"binpack", []placement.GPU{gpu("GPU-a"), gpu("GPU-b", 12*gib), gpu("GPU-c", 20*gib)}, 1, []growth.GPU{"GPU-b"}, 0.833},
		"binpack: all of a GPU":                                                      {"binpack", []placement.GPU{gpu("GPU-a"), gpu("GPU-b", 16*gib)}, 1, []growth.GPU{"GPU-b"}, 1},
		"spread: the emptiest":                                                       {"spread", []placement.GPU{gpu("GPU-a", 4*gib), gpu("GPU-b", 1*gib)}, 1, []growth.GPU{"GPU-b"}, 0.625},
	} {
		t.Run(name, func(t *testing.T) {
			policy, err := placement.NewPolicy(tc.policy, interference.Prior())
			require.NoError(t, err)
			choice, misfit := placement.Place(node(tc.gpus...), asks(8*gib, tc.count, 8*tc.count), policy)
			require.True(t, misfit.Fits(), misfit.Reason)
			var chosen []growth.GPU
			for _, share := range choice.GPUs {
				require.Equal(t, 8*gib, share.Memory)
				chosen = append(chosen, share.GPU)
			}
			require.Equal(t, tc.want, chosen)
			rated, _ := placement.ScoreNode(node(tc.gpus...), asks(8*gib, tc.count, 8*tc.count), policy)
			require.Equal(t, choice.Score, rated)
			require.InDelta(t, tc.score, float64(choice.Score), 0.001)
		})
	}
	_, err := placement.NewPolicy("fastest", interference.Prior())
	require.EqualError(t, err, `policy "fastest" is none of growth, specon, iadeep, binpack, spread`)
}

func TestEveryPolicyGivesItsReason(t *testing.T) {
	crowded := gpu("GPU-a", 4*gib, 8*gib)
	crowded.Residents[0].Category = growth.Converged
	reasons := map[string]string{
		"growth":  "+0.52 growth for the pod, -0.33 for 2 there already; its steps take 1.62 ± 0.30 times as long as alone",
		"specon":  "weighted count 3: 2 there already, 2 for each that progresses, 1.5 watched, 1 converged",
		"iadeep":  "2.76: how much longer the steps of 3 jobs take, in sum",
		"binpack": "20GiB of 24GiB used with the pod",
		"spread":  "4GiB of 24GiB free with the pod",
	}
	for _, name := range placement.PolicyNames() {
		policy, err := placement.NewPolicy(name, interference.Prior())
		require.NoError(t, err)
		require.Equal(t, reasons[name], policy.Explain(crowded, 8*gib, 1), name)
	}
	alone := placement.MarginalGrowth{Interference: interference.Prior()}
	require.Equal(t, "+1.00 growth: alone on the GPU", alone.Explain(gpu("GPU-a"), 8*gib, 1))
}

// TestCautionCosts has two models that expect the same. The one that is less sure makes a shared place worth less.
func TestCautionCosts(t *testing.T) {
	worth := func(deviation growth.Slowdown) placement.Score {
		policy := placement.MarginalGrowth{Interference: interference.Model{Contention: 0.3, Deviation: deviation}}
		return policy.Score(gpu("GPU-a", gib), gib, 1)
	}
	require.Less(t, worth(0.2), worth(0))
}

func TestPoints(t *testing.T) {
	nan := placement.Score(0)
	nan /= nan
	for name, tc := range map[string]struct {
		scores []placement.Score
		points []int64
	}{
		"nobody":                                   {nil, nil},
		"one place is the best there is":           {[]placement.Score{0.1}, []int64{10}},
		"in proportion to the best":                {[]placement.Score{0.4, 0.2, 0.1, 0}, []int64{10, 5, 3, 0}},
		"differences in a full cluster still tell": {[]placement.Score{0.10, 0.08, 0.05}, []int64{10, 8, 5}},
		"worse than nothing is nothing":            {[]placement.Score{1, -3}, []int64{10, 0}},
		"where all is bad, the worst is none":      {[]placement.Score{-1, -2, -3}, []int64{10, 5, 0}},
		"equals are equal":                         {[]placement.Score{0, 0}, []int64{10, 10}},
		"what is no number is none":                {[]placement.Score{nan, 1}, []int64{0, 10}},
		"only what is no number":                   {[]placement.Score{nan}, []int64{0}},
	} {
		t.Run(name, func(t *testing.T) {
			var scale placement.Normalizer
			for _, s := range tc.scores {
				scale.Add(s)
			}
			for i, s := range tc.scores {
				require.Equal(t, tc.points[i], scale.Points(s))
			}
		})
	}
}

func TestKeep(t *testing.T) {
	n := node(gpu("GPU-a", 20*gib), gpu("GPU-b"), placement.GPU{UUID: "GPU-c", Memory: 24 * gib})
	for name, tc := range map[string]struct {
		gpus []growth.GPUShare
		kept bool
	}{
		"still fits":       {[]growth.GPUShare{{GPU: "GPU-b", Memory: 8 * gib}}, true},
		"crowded by now":   {[]growth.GPUShare{{GPU: "GPU-a", Memory: 8 * gib}}, false},
		"unhealthy by now": {[]growth.GPUShare{{GPU: "GPU-c", Memory: 8 * gib}}, false},
		"gone":             {[]growth.GPUShare{{GPU: "GPU-x", Memory: 8 * gib}}, false},
		"another size":     {[]growth.GPUShare{{GPU: "GPU-b", Memory: 4 * gib}}, false},
		"another count":    {[]growth.GPUShare{{GPU: "GPU-b", Memory: 8 * gib}, {GPU: "GPU-b", Memory: 8 * gib}}, false},
		"nothing":          {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.kept, placement.StillFits(n, asks(8*gib, 1, 8), tc.gpus))
		})
	}
}
