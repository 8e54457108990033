package flowcon_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/quick"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/flowcon"
	"github.com/trellis-gpu/trellis/growth/policy"
)

const (
	p    = growth.Progressing
	w    = growth.Watching
	c    = growth.Converged
	base = 20 * time.Second
)

var now = time.Unix(1_700_000_000, 0)

func config() flowcon.Config {
	return flowcon.Config{Alpha: 0.05, Beta: 2, Interval: base}
}

// job returns a job with many samples, outside its dwell time, with the same growth in both readings.
func job(category growth.Category, g, weight, share float64) flowcon.Job {
	return flowcon.Job{
		Samples:  9,
		Category: category,
		Growth:   growth.Growth(g),
		Raw:      efficiency.PerWork(g),
		Weight:   weight,
		Share:    growth.Share(share),
	}
}

func newcomer() flowcon.Job { return flowcon.Job{Samples: 1, Category: p} }

func shares(d flowcon.Decision) []float64 {
	all := make([]float64, len(d.Grants))
	for i, g := range d.Grants {
		all[i] = float64(g.Share)
	}
	return all
}

func TestDecide_Shares(t *testing.T) {
	third := 1.0 / 3
	for name, tc := range map[string]struct {
		policy policy.Name
		jobs   []flowcon.Job
		want   []float64
	}{
		"fair is equal regardless of growth":                       {policy.Fair, []flowcon.Job{job(p, 1, 0, 0), job(c, 0, 0, 0)}, []float64{.5, .5}},
		"growth g decides, not the raw efficiency G":               {policy.FlowCon, []flowcon.Job{{Samples: 9, Category: p, Growth: .5, Raw: 1e6}, {Samples: 9, Category: p, Growth: .5, Raw: 1e-6}}, []float64{.5, .5}},
		"literal: the scale of a loss decides":                     {policy.FlowConLiteral, []flowcon.Job{{Samples: 9, Category: p, Growth: .5, Raw: 1e6}, {Samples: 9, Category: p, Growth: .5, Raw: .1}}, []float64{1, 1e-7}},
		"the sum is over all jobs":                                 {policy.FlowCon, []flowcon.Job{job(p, .6, 1, 0), job(c, .4, 1, 0)}, []float64{.6, .4}},
		"the example of the thesis: VAE gets 1/(2·2)":              {policy.FlowCon, []flowcon.Job{job(c, 0, 1, 0), newcomer()}, []float64{.25, .75}},
		"a converged job gets the floor":                           {policy.FlowCon, []flowcon.Job{job(p, 1, 1, 0), job(c, 0, 1, 0), job(c, 0, 1, 0)}, []float64{2 * third, third / 2, third / 2}},
		"a progressing job with one low sample gets the floor":     {policy.FlowCon, []flowcon.Job{job(p, 1, 1, 0), job(p, 0, 1, 0)}, []float64{.75, .25}},
		"literal: such a job starves":                              {policy.FlowConLiteral, []flowcon.Job{job(p, 1, 1, .5), {Samples: 1, Category: p}, job(p, .05, 1, .5)}, []float64{1 / 1.05 / 2, .5, .05 / 1.05 / 2}},
		"new jobs are equal":                                       {policy.FlowCon, []flowcon.Job{newcomer(), newcomer(), newcomer()}, []float64{third, third, third}},
		"a silent job gets its fair share":                         {policy.FlowCon, []flowcon.Job{{Category: p, Silent: true}, job(p, .5, 1, 0)}, []float64{.25 + .25/1*.5, .25 + .75/1*.5}},
		"a watching job keeps its previous weight":                 {policy.FlowCon, []flowcon.Job{job(w, .04, .625, 0), job(p, .96, .5, 0)}, []float64{.25 + .375/1.085*.5, .25 + .71/1.085*.5}},
		"a watching job without a previous weight has weight 1":    {policy.FlowCon, []flowcon.Job{job(w, 0, 0, 0), newcomer()}, []float64{.5, .5}},
		"literal: limits that exceed 1 together are relative":      {policy.FlowConLiteral, []flowcon.Job{job(p, .01, .8, .8), job(p, 1, .2, .2)}, []float64{.8 / (.8 + 1/1.01), 1 / 1.01 / (.8 + 1/1.01)}},
		"literal: a converged job with low growth stays converged": {policy.FlowConLiteral, []flowcon.Job{job(c, .01, 1, 0), job(p, .19, 1, 0)}, []float64{.25 / 1.2, .95 / 1.2}},
		"normalising leaves floors exact":                          {policy.FlowCon, []flowcon.Job{job(c, 0, 1, 0), newcomer(), newcomer(), newcomer()}, []float64{.125, .875 / 3, .875 / 3, .875 / 3}},
		"zero growth does not divide by zero":                      {policy.FlowCon, []flowcon.Job{job(p, 0, 1, 0), job(p, 0, 1, 0)}, []float64{.5, .5}},
		"literal: zero growth does not divide by zero":             {policy.FlowConLiteral, []flowcon.Job{job(p, 0, 1, 0), job(c, 0, 1, 0)}, []float64{.8, .2}},
		"a single job gets the node":                               {policy.FlowCon, []flowcon.Job{job(p, .3, 1, 0)}, []float64{1}},
		"a job whose metric is not finite gets the floor":          {policy.FlowCon, []flowcon.Job{{Category: p, FloorOnly: true, Weight: 1}, job(p, .5, 1, 0)}, []float64{.25, .75}},
		"also while it is Watching":                                {policy.FlowCon, []flowcon.Job{{Category: w, FloorOnly: true, Weight: 1}, job(w, .04, 1, 0)}, []float64{.25, .75}},
		"also if the other job has converged":                      {policy.FlowCon, []flowcon.Job{{Category: c, FloorOnly: true}, job(c, 0, 1, 0)}, []float64{.25, .75}},
		"jobs whose metrics are not finite are equal":              {policy.FlowCon, []flowcon.Job{{Category: c, FloorOnly: true}, {Category: c, FloorOnly: true}}, []float64{.5, .5}},
		"converged jobs are equal":                                 {policy.FlowCon, []flowcon.Job{job(c, .04, .9, .9), job(c, 0, .1, .1)}, []float64{.5, .5}},
	} {
		t.Run(name, func(t *testing.T) {
			got := flowcon.Decide(tc.policy, config(), now, flowcon.Input{Jobs: tc.jobs, Interval: base})
			require.InDeltaSlice(t, tc.want, shares(got), 1e-6)
			for _, g := range got.Grants {
				require.NotEmpty(t, g.Reason)
			}
		})
	}
}

func TestDecide_WithoutJobs(t *testing.T) {
	require.Equal(t, flowcon.Decision{Interval: base}, flowcon.Decide(policy.FlowCon, config(), now, flowcon.Input{}))
}

// The interval doubles while all jobs are converged, up to 16 times its base, and is reset.
func TestDecide_BacksOffWhileAllJobsAreConverged(t *testing.T) {
	converged := []flowcon.Job{job(c, 0, 1, .5), job(c, 0, 1, .5)}
	mixed := []flowcon.Job{job(c, 0, 1, .5), job(p, 1, 1, .5)}
	in := flowcon.Input{Jobs: converged, Interval: base}
	for _, want := range []time.Duration{2, 4, 8, 16, 16, 16} {
		in.Interval = flowcon.Decide(policy.FlowCon, config(), now, in).Interval
		require.Equal(t, want*base, in.Interval)
	}
	back := flowcon.Decide(policy.FlowCon, config(), now, flowcon.Input{Jobs: mixed, Interval: in.Interval})
	require.Equal(t, base, back.Interval, "a return to Progressing resets the interval")
	in.Interrupted = true
	require.Equal(t, base, flowcon.Decide(policy.FlowCon, config(), now, in).Interval, "an arrival or a departure resets the interval")
}

// In the thesis the interval has no bound, and a return from Converged to Progressing does not reset it.
func TestDecide_LiteralBackoffIsUnbounded(t *testing.T) {
	in := flowcon.Input{Jobs: []flowcon.Job{job(c, 0, 1, 1)}, Interval: base}
	for range 100 {
		next := flowcon.Decide(policy.FlowConLiteral, config(), now, in).Interval
		require.GreaterOrEqual(t, next, in.Interval)
		in.Interval = next
	}
	require.Equal(t, time.Duration(math.MaxInt64), in.Interval)
	in.Jobs[0] = job(c, 1, 1, 1)
	got := flowcon.Decide(policy.FlowConLiteral, config(), now, in)
	require.Equal(t, p, got.Grants[0].Category)
	require.Equal(t, in.Interval, got.Interval)
}

// Algorithm 1 of the thesis, lines 3–13. NL, WL and CL are Progressing, Watching and Converged.
func TestDecide_LiteralCategories(t *testing.T) {
	for name, tc := range map[string]struct {
		job  flowcon.Job
		want growth.Category
	}{
		"NL with low growth goes to WL":        {job(p, .01, 1, 1), w},
		"WL with low growth goes to CL":        {job(w, .01, 1, 1), c},
		"CL with low growth has no branch":     {job(c, .01, 1, 1), c},
		"WL with growth returns to NL":         {job(w, .05, 1, 1), p},
		"CL with growth returns to NL":         {job(c, .05, 1, 1), p},
		"a job whose G does not exist is new":  {newcomer(), p},
		"the classifier's category is ignored": {flowcon.Job{Samples: 9, Category: p, Growth: 1, Raw: 0}, w},
	} {
		t.Run(name, func(t *testing.T) {
			got := flowcon.Decide(policy.FlowConLiteral, config(), now, flowcon.Input{Jobs: []flowcon.Job{tc.job}, Interval: base})
			require.Equal(t, tc.want, got.Grants[0].Category)
		})
	}
}

func TestDecide_AppliesDeadbandAndDwell(t *testing.T) {
	recently := func(j flowcon.Job, ago time.Duration) flowcon.Job { j.Changed = now.Add(-ago); return j }
	for name, tc := range map[string]struct {
		in   flowcon.Input
		want []float64
	}{
		"a change below 0.05 is not made":      {flowcon.Input{Jobs: []flowcon.Job{job(p, .54, .5, .5), job(p, .46, .5, .5)}}, []float64{.5, .5}},
		"a change above 0.05 is made":          {flowcon.Input{Jobs: []flowcon.Job{job(p, .56, .5, .5), job(p, .44, .5, .5)}}, []float64{.56, .44}},
		"an interruption permits any change":   {flowcon.Input{Interrupted: true, Jobs: []flowcon.Job{job(p, .54, .5, .5), job(p, .46, .5, .5)}}, []float64{.54, .46}},
		"9 s after a change shares stay":       {flowcon.Input{Jobs: []flowcon.Job{recently(job(p, .7, .5, .5), 9*time.Second), job(p, .3, .5, .5)}}, []float64{.5, .5}},
		"10 s after a change shares change":    {flowcon.Input{Jobs: []flowcon.Job{recently(job(p, .7, .5, .5), 10*time.Second), job(p, .3, .5, .5)}}, []float64{.7, .3}},
		"an interruption ends the dwell time":  {flowcon.Input{Interrupted: true, Jobs: []flowcon.Job{recently(job(p, .7, .5, .5), 0), job(p, .3, .5, .5)}}, []float64{.7, .3}},
		"a change in the future counts as old": {flowcon.Input{Jobs: []flowcon.Job{recently(job(p, .7, .5, .5), -time.Hour), job(p, .3, .5, .5)}}, []float64{.7, .3}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.in.Interval = base
			require.InDeltaSlice(t, tc.want, shares(flowcon.Decide(policy.FlowCon, config(), now, tc.in)), 1e-9)
		})
	}
}

// For any jobs: shares add up to 1, none is below the floor, and requests stay within the pool.
func TestDecide_CorrectedHoldsItsInvariants(t *testing.T) {
	holds := func(growths []uint8, categories []uint8, milli uint16) bool {
		jobs := make([]flowcon.Job, 0, len(growths))
		for i, g := range growths[:min(len(growths), len(categories))] {
			kind := []growth.Category{p, w, c}[categories[i]%3]
			j := job(kind, float64(g)/255, float64(categories[i]/3)/85, 0)
			j.Samples = int(g % 4)
			j.ID = growth.PodUID(fmt.Sprint(i))
			jobs = append(jobs, j)
		}
		got := flowcon.Decide(policy.FlowCon, config(), now, flowcon.Input{Jobs: jobs, Interval: base})
		sum, floor := 0.0, 1/(2*float64(len(jobs)))
		parts := make([]growth.Share, len(jobs))
		for i, g := range got.Grants {
			sum += float64(g.Share)
			parts[i] = g.Share
			if float64(g.Share) < floor-1e-9 {
				return false
			}
		}
		var requested growth.MilliCPU
		for _, r := range flowcon.Requests(parts, atLeast(10, len(parts)), growth.MilliCPU(milli)) {
			requested += r
		}
		return requested <= growth.MilliCPU(milli) && (len(jobs) == 0 || math.Abs(sum-1) < 1e-9)
	}
	require.NoError(t, quick.Check(holds, &quick.Config{MaxCount: 5000}))
}

// atLeast returns equal minima of n jobs.
func atLeast(minimum growth.MilliCPU, n int) []growth.MilliCPU {
	return slices.Repeat([]growth.MilliCPU{minimum}, n)
}

// A job whose minimum exceeds its share gets the minimum, and the others divide the rest.
func TestRequests_RespectDifferentMinima(t *testing.T) {
	shares := []growth.Share{.5, .25, .25}
	require.Equal(t, []growth.MilliCPU{400, 200, 400}, flowcon.Requests(shares, []growth.MilliCPU{2, 2, 400}, 1000))
	require.Equal(t, []growth.MilliCPU{100, 100, 800}, flowcon.Requests(shares, []growth.MilliCPU{2, 100, 800}, 1000))
	require.Nil(t, flowcon.Requests(shares, []growth.MilliCPU{2, 200, 800}, 1000))
}

func TestRequests_StayWithinThePool(t *testing.T) {
	for name, tc := range map[string]struct {
		shares []growth.Share
		pool   growth.MilliCPU
		want   []growth.MilliCPU
	}{
		"in proportion to the shares":              {[]growth.Share{.75, .25}, 1000, []growth.MilliCPU{750, 250}},
		"requests are rounded down":                {[]growth.Share{1. / 3, 1. / 3, 1. / 3}, 1000, []growth.MilliCPU{333, 333, 333}},
		"a small request is raised to the minimum": {[]growth.Share{1, 0}, 1000, []growth.MilliCPU{990, 10}},
		"raising one request can raise another":    {[]growth.Share{.88, .11, .01}, 93, []growth.MilliCPU{73, 10, 10}},
		"all shares are zero":                      {[]growth.Share{0, 0}, 1000, []growth.MilliCPU{10, 10}},
		"the pool is just large enough":            {[]growth.Share{.9, .1}, 20, []growth.MilliCPU{10, 10}},
		"the pool is too small":                    {[]growth.Share{.5, .5}, 19, nil},
		"there are no jobs":                        {nil, 100, []growth.MilliCPU{}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, flowcon.Requests(tc.shares, atLeast(10, len(tc.shares)), tc.pool))
		})
	}
}

func TestConfig_Validate(t *testing.T) {
	require.NoError(t, config().Validate())
	for name, invalidate := range map[string]func(*flowcon.Config){
		"alpha":    func(c *flowcon.Config) { c.Alpha = math.NaN() },
		"beta":     func(c *flowcon.Config) { c.Beta = 0.5 },
		"interval": func(c *flowcon.Config) { c.Interval = 0 },
	} {
		bad := config()
		invalidate(&bad)
		require.ErrorContains(t, bad.Validate(), name)
	}
}
