package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

const gib = growth.GiB

// asks returns a request with one container per entry of units, for a unit of 1 GiB.
func asks(memory growth.MiB, count int, units ...int) placement.Request {
	r := placement.Request{Memory: memory, Count: count}
	for i, u := range units {
		r.Containers = append(r.Containers, placement.Container{Name: string(rune('a' + i)), Units: u})
	}
	return r
}

// gpu returns a healthy GPU of 24 GiB with new jobs that hold memory.
func gpu(uuid growth.GPU, held ...growth.MiB) placement.GPU {
	g := placement.GPU{UUID: uuid, Memory: 24 * gib, Healthy: true}
	for i, m := range held {
		g.Residents = append(g.Residents, placement.Resident{
			Pod:      growth.PodUID(rune('p' + i)),
			Memory:   m,
			Growth:   1,
			Activity: 1,
		})
	}
	return g
}

func node(gpus ...placement.GPU) placement.Node {
	for i := range gpus {
		gpus[i].Index = i
	}
	return placement.Node{Name: "n", Unit: gib, GPUs: gpus}
}

func TestFit_ExplainsWhyNot(t *testing.T) {
	unhealthy := placement.GPU{UUID: "GPU-b", Memory: 24 * gib}
	small := placement.GPU{UUID: "GPU-b", Memory: 8 * gib, Healthy: true}
	for name, tc := range map[string]struct {
		node         placement.Node
		request      placement.Request
		reason       string
		unresolvable bool
	}{
		"an empty GPU has room": {node: node(gpu("GPU-a")), request: asks(8*gib, 1, 8)},
		"the last GiB fits":     {node: node(gpu("GPU-a", 23*gib)), request: asks(gib, 1, 1)},
		"a full node": {
			node: node(gpu("GPU-a", 20*gib), gpu("GPU-b", 16*gib)), request: asks(12*gib, 1, 12),
			reason: "GPU memory: 12GiB asked, largest free share 8GiB on gpu-1",
		},
		"an over-committed GPU has no free memory": {
			node: node(gpu("GPU-a", 30*gib)), request: asks(gib, 1, 1),
			reason: "GPU memory: 1GiB asked, largest free share 0MiB on gpu-0",
		},
		"a request larger than any GPU": {
			node: node(gpu("GPU-a"), gpu("GPU-b")), request: asks(80*gib, 1, 80),
			reason: "GPU memory: 80GiB asked, the largest GPU has 24GiB", unresolvable: true,
		},
		"free memory on an unhealthy GPU does not count": {
			node: node(gpu("GPU-a", 20*gib), unhealthy), request: asks(8*gib, 1, 8),
			reason: "GPU memory: 8GiB asked, largest free share 4GiB on gpu-0",
		},
		"all GPUs are unhealthy": {
			node:         node(unhealthy),
			request:      asks(8*gib, 1, 8),
			reason:       "GPUs: 1 asked, 0 of 1 are healthy",
			unresolvable: true,
		},
		"two GPUs on a node with one": {
			node:         node(gpu("GPU-a")),
			request:      asks(8*gib, 2, 16),
			reason:       "GPUs: 2 asked, the node has 1",
			unresolvable: true,
		},
		"two GPUs, one of which is too small": {
			node: node(gpu("GPU-a"), small), request: asks(12*gib, 2, 24),
			reason: "GPU memory: 12GiB asked on each of 2 GPUs, only 1 of 2 are that large", unresolvable: true,
		},
		"two GPUs, one of which is full": {
			node: node(gpu("GPU-a"), gpu("GPU-b", 20*gib)), request: asks(8*gib, 2, 16),
			reason: "GPU memory: 8GiB asked on each of 2 GPUs, too few of 2 have it free",
		},
		"a node without GPUs": {node: node(), request: asks(gib, 1, 1), reason: "the node has no GPU", unresolvable: true},
		"the containers of a pod add up": {
			node: node(gpu("GPU-a", 12*gib)), request: asks(gib, 1, 8, 8),
			reason: "GPU memory: 16GiB asked, largest free share 12GiB on gpu-0",
		},
		"containers without a limit": {
			node: node(gpu("GPU-a")), request: asks(8*gib, 1),
			reason: "no container has a limit on GPU memory: is Trellis's admission policy installed?", unresolvable: true,
		},
		"limits in another unit than the node": {
			node: placement.Node{Unit: 512, GPUs: []placement.GPU{gpu("GPU-a")}}, request: asks(8*gib, 1, 8),
			reason:       "GPU memory: 8GiB asked, but the containers' limits are 8 units of 512MiB: the admission policy and the node disagree about the unit",
			unresolvable: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			status := placement.Fit(tc.node, tc.request)
			require.Equal(t, placement.Status{Reason: tc.reason, Unresolvable: tc.unresolvable}, status)
			_, again := placement.Place(tc.node, tc.request, placement.Spread{})
			require.Equal(t, status, again, "Place and Fit agree")
		})
	}
}

func TestRequest_MemoryPerGPU(t *testing.T) {
	for name, tc := range map[string]struct {
		request placement.Request
		want    growth.MiB
	}{
		"memory is rounded up to a unit":           {asks(500, 1, 1), gib},
		"units are split over GPUs and rounded up": {asks(2*gib, 2, 5), 3 * gib},
		"containers add up":                        {asks(gib, 1, 2, 3), 5 * gib},
		"init containers hand over their devices":  {placement.Request{Memory: gib, Count: 1, Containers: []placement.Container{{Units: 6, Role: placement.Init}, {Units: 4}}}, 6 * gib},
		"sidecars keep their devices":              {placement.Request{Memory: gib, Count: 1, Containers: []placement.Container{{Units: 2, Role: placement.Sidecar}, {Units: 3, Role: placement.Init}, {Units: 4}}}, 6 * gib},
	} {
		t.Run(name, func(t *testing.T) {
			got, status := tc.request.MemoryPerGPU(gib)
			require.True(t, status.Fits(), status.Reason)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestPlace_PrefersByPolicy(t *testing.T) {
	converged := gpu("GPU-b")
	converged.Residents = []placement.Resident{{
		Pod:      "old",
		Memory:   4 * gib,
		Growth:   0.02,
		Activity: 1,
	}}
	starved := gpu("GPU-c")
	starved.Residents = []placement.Resident{{
		Pod:      "old",
		Memory:   4 * gib,
		Growth:   1,
		Activity: 0.1,
	}}
	watching := gpu("GPU-a", 2*gib, 2*gib)
	watching.Residents[0].Category, watching.Residents[1].Category = growth.Watching, growth.Converged
	for name, tc := range map[string]struct {
		policy string
		gpus   []placement.GPU
		count  int
		want   []growth.GPU
		score  float64
	}{
		"growth: an empty GPU has the maximum score":                                   {"growth", []placement.GPU{gpu("GPU-a", 4*gib), gpu("GPU-b")}, 1, []growth.GPU{"GPU-b"}, 1},
		"growth: a converged neighbour is better than a growing one":                   {"growth", []placement.GPU{gpu("GPU-a", 4*gib), converged}, 1, []growth.GPU{"GPU-b"}, 0.759},
		"growth: a neighbour that waits for data leaves the GPU free":                  {"growth", []placement.GPU{gpu("GPU-a", 4*gib), starved}, 1, []growth.GPU{"GPU-c"}, 0.940},
		"growth: one growing neighbour":                                                {"growth", []placement.GPU{gpu("GPU-a", 4*gib)}, 1, []growth.GPU{"GPU-a"}, 0.527},
		"growth: two growing neighbours":                                               {"growth", []placement.GPU{gpu("GPU-a", 4*gib, 4*gib)}, 1, []growth.GPU{"GPU-a"}, 0.235},
		"growth: ties are broken by UUID":                                              {"growth", []placement.GPU{gpu("GPU-a"), gpu("GPU-b")}, 1, []growth.GPU{"GPU-a"}, 1},
		"growth: a request for two GPUs gets the best two":                             {"growth", []placement.GPU{gpu("GPU-a", 4*gib), gpu("GPU-b"), gpu("GPU-c")}, 2, []growth.GPU{"GPU-b", "GPU-c"}, 1},
		"specon: one progressing job (2) before a watching and a converged one (2.5)":  {"specon", []placement.GPU{watching, gpu("GPU-b", 4*gib)}, 1, []growth.GPU{"GPU-b"}, 0.5},
		"specon: a watching and a converged job (2.5) before two progressing ones (4)": {"specon", []placement.GPU{watching, gpu("GPU-b", gib, gib)}, 1, []growth.GPU{"GPU-a"}, 0.444},
		"specon: with equal counts the GPU with more free memory":                      {"specon", []placement.GPU{gpu("GPU-a", 5*gib), gpu("GPU-b", 4*gib)}, 1, []growth.GPU{"GPU-b"}, 0.5},
		"iadeep: an idle GPU first":                                                    {"iadeep", []placement.GPU{converged, gpu("GPU-c")}, 1, []growth.GPU{"GPU-c"}, 1},
		"iadeep: growth does not matter":                                               {"iadeep", []placement.GPU{gpu("GPU-a", 4*gib), converged}, 1, []growth.GPU{"GPU-a"}, 0.521},
		"iadeep: a neighbour that waits for data is better":                            {"iadeep", []placement.GPU{gpu("GPU-a", 4*gib), starved}, 1, []growth.GPU{"GPU-c"}, 0.916},
		"iadeep-literal: a neighbour that waits for data is better":                    {"iadeep-literal", []placement.GPU{gpu("GPU-a", 4*gib), starved}, 1, []growth.GPU{"GPU-c"}, 0.916},
		"binpack: the fullest GPU":                                                     {"binpack", []placement.GPU{gpu("GPU-a"), gpu("GPU-b", 12*gib), gpu("GPU-c", 20*gib)}, 1, []growth.GPU{"GPU-b"}, 0.833},
		"binpack: a GPU that becomes full":                                             {"binpack", []placement.GPU{gpu("GPU-a"), gpu("GPU-b", 16*gib)}, 1, []growth.GPU{"GPU-b"}, 1},
		"spread: the emptiest GPU":                                                     {"spread", []placement.GPU{gpu("GPU-a", 4*gib), gpu("GPU-b", 1*gib)}, 1, []growth.GPU{"GPU-b"}, 0.625},
	} {
		t.Run(name, func(t *testing.T) {
			policy, err := placement.NewPolicy(tc.policy, nil)
			require.NoError(t, err)
			choice, status := placement.Place(node(tc.gpus...), asks(8*gib, tc.count, 8*tc.count), policy)
			require.True(t, status.Fits(), status.Reason)
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
	_, err := placement.NewPolicy("fastest", nil)
	require.EqualError(t, err, `policy "fastest" is none of growth, specon, iadeep, iadeep-literal, binpack, spread`)
}

func TestPolicy_ExplainsItsScore(t *testing.T) {
	shared := gpu("GPU-a", 4*gib, 8*gib)
	shared.Residents[0].Category = growth.Converged
	reasons := map[string]string{
		"growth":         "+0.62 growth for the pod, -0.38 for 2 there already; its steps take 1.62 ± 0.30 times as long as alone",
		"specon":         "weighted count 3 for 2 jobs: 2 if progressing, 1.5 if watching, 1 if converged",
		"iadeep":         "+2.76 step time, summed over 3 jobs",
		"iadeep-literal": "+2.76 step time, summed over 3 jobs",
		"binpack":        "20GiB of 24GiB used with the pod",
		"spread":         "4GiB of 24GiB free with the pod",
	}
	for _, name := range placement.PolicyNames() {
		policy, err := placement.NewPolicy(name, nil)
		require.NoError(t, err)
		require.Equal(t, reasons[name], policy.Explain(shared, placement.Newcomer{Memory: 8 * gib, Count: 1}), name)
	}
	shared.Residents[0].Left = 30
	ends := placement.MarginalGrowth{Stay: 128}
	require.Equal(t, "+0.73 growth for the pod, -0.23 for 2 there already, of which 1 will end soon; its steps take 1.62 ± 0.30 times as long as alone",
		ends.Explain(shared, placement.Newcomer{Memory: 8 * gib, Count: 1}))
	alone := placement.MarginalGrowth{}
	require.Equal(t, "+1.00 growth: alone on the GPU", alone.Explain(gpu("GPU-a"), placement.Newcomer{Memory: 8 * gib, Count: 1}))
}

// A neighbour that ends during the stay of the new job, 100 s of steps, counts for that part of it, and takes a quarter longer until then.
func TestMarginalGrowth_NeighboursThatEnd(t *testing.T) {
	policy := placement.MarginalGrowth{Model: &interference.Model{Contention: 0.25}, Stay: 100}
	for name, tc := range map[string]struct {
		left       []growth.Seconds
		gain, loss float64
		ending     int
	}{
		"at an unknown time":              {[]growth.Seconds{0}, 1 / 1.25, 0.2, 0},
		"after the new job":               {[]growth.Seconds{100}, 1 / 1.25, 0.2, 0},
		"half way":                        {[]growth.Seconds{50}, 1 / 1.125, 0.1, 1},
		"at once":                         {[]growth.Seconds{1e-9}, 1, 0, 1},
		"one at once, the other after it": {[]growth.Seconds{1e-9, 1e6}, 1 / 1.25, 0.2 * 5 / 6, 1},
		"one at once, the other at an unknown time": {[]growth.Seconds{1e-9, 0}, 1 / 1.25, 0.2 * 5 / 6, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := gpu("GPU-a", make([]growth.MiB, len(tc.left))...)
			for i, left := range tc.left {
				g.Residents[i].Left = left
			}
			gain, loss, ending := policy.Change(g, placement.Newcomer{Count: 1})
			require.InDelta(t, tc.gain, float64(gain), 1e-6)
			require.InDelta(t, tc.loss, float64(loss), 1e-6)
			require.Equal(t, tc.ending, ending)
		})
	}
}

func TestTimeLeft_Stay(t *testing.T) {
	for name, tc := range map[string]struct {
		left []growth.Seconds
		want growth.Seconds
	}{
		"no jobs":                           {nil, 0},
		"a third, as a power of two":        {[]growth.Seconds{110, 210, 310}, 64},
		"a little more changes nothing":     {[]growth.Seconds{140, 240, 340}, 64},
		"days":                              {[]growth.Seconds{1e6}, 262144},
		"less than a second":                {[]growth.Seconds{1}, 0.25},
		"unknown ends do not count":         {[]growth.Seconds{0, 210, 0}, 64},
		"invalid: less than no time":        {[]growth.Seconds{-1}, 0},
		"too short to count":                {[]growth.Seconds{1e-9}, 0},
		"the longest time that can be left": {[]growth.Seconds{366 * 86400}, 8388608},
	} {
		t.Run(name, func(t *testing.T) {
			var all placement.TimeLeft
			for _, left := range tc.left {
				all.Add(left)
			}
			require.Equal(t, tc.want, all.Stay())
			for _, left := range tc.left {
				all.Remove(left)
			}
			require.Equal(t, placement.TimeLeft{}, all)
		})
	}
}

func TestNormalizer_Points(t *testing.T) {
	nan := placement.Score(0)
	nan /= nan
	for name, tc := range map[string]struct {
		scores []placement.Score
		points []int64
	}{
		"there are no nodes":                                   {nil, nil},
		"a single node gets all points":                        {[]placement.Score{0.1}, []int64{10}},
		"points are proportional to the best score":            {[]placement.Score{0.4, 0.2, 0.1, 0}, []int64{10, 5, 3, 0}},
		"small differences in a full cluster count":            {[]placement.Score{0.10, 0.08, 0.05}, []int64{10, 8, 5}},
		"a negative score gets no points":                      {[]placement.Score{1, -3}, []int64{10, 0}},
		"if all scores are negative, the worst gets no points": {[]placement.Score{-1, -2, -3}, []int64{10, 5, 0}},
		"equal scores get equal points":                        {[]placement.Score{0, 0}, []int64{10, 10}},
		"NaN gets no points":                                   {[]placement.Score{nan, 1}, []int64{0, 10}},
		"only NaN":                                             {[]placement.Score{nan}, []int64{0}},
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

func TestStillFits(t *testing.T) {
	n := node(gpu("GPU-a", 20*gib), gpu("GPU-b"), placement.GPU{UUID: "GPU-c", Memory: 24 * gib})
	for name, tc := range map[string]struct {
		gpus []growth.GPUShare
		want bool
	}{
		"the GPU still fits":        {[]growth.GPUShare{{GPU: "GPU-b", Memory: 8 * gib}}, true},
		"the GPU is full now":       {[]growth.GPUShare{{GPU: "GPU-a", Memory: 8 * gib}}, false},
		"the GPU is unhealthy now":  {[]growth.GPUShare{{GPU: "GPU-c", Memory: 8 * gib}}, false},
		"the GPU has left the node": {[]growth.GPUShare{{GPU: "GPU-x", Memory: 8 * gib}}, false},
		"the size has changed":      {[]growth.GPUShare{{GPU: "GPU-b", Memory: 4 * gib}}, false},
		"one GPU twice":             {[]growth.GPUShare{{GPU: "GPU-b", Memory: 8 * gib}, {GPU: "GPU-b", Memory: 8 * gib}}, false},
		"no GPUs":                   {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, placement.StillFits(n, asks(8*gib, 1, 8), tc.gpus))
		})
	}
}
