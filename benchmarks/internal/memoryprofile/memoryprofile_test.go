package memoryprofile

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
)

const header = "kind,batch,seed,params,flops,allocated_kib,started,memory_mib\n"

// recordings are of three kinds whose memory is a constant and a part for each sample, and whose readings differ by 1 %.
func recordings() (all []Recording) {
	for kind := range 3 {
		for batch := 16; batch <= 256; batch *= 2 {
			for seed := 1; seed <= 2; seed++ {
				r := Recording{
					Kind: fmt.Sprint("kind-", kind), Batch: batch, Seed: seed, Params: 1e6 * float64(1+kind), FLOPs: 1e7 * float64(1+kind),
					Allocated: 1000*(1+kind) + 10*batch, Started: 4,
				}
				random := rand.New(rand.NewPCG(uint64(batch), uint64(seed+10*kind)))
				for n := range 64 {
					level := 300 + 100*float64(kind) + float64(batch)
					if n < r.Started {
						level /= 2
					}
					r.Memory = append(r.Memory, growth.MiB(level*(1+0.01*random.NormFloat64())))
				}
				all = append(all, r)
			}
		}
	}
	return all
}

func TestEvaluate(t *testing.T) {
	all := recordings()
	result := Evaluate(all)
	require.Len(t, result.Own, len(all)*len(parts))
	require.Len(t, result.OwnWithRun, len(all)*len(parts))
	require.Len(t, result.Run, len(all))
	require.Len(t, result.Described, len(all))
	for name, cases := range map[string][]Case{"own": result.Own, "own, with a run": result.OwnWithRun, "a run": result.Run} {
		require.Less(t, meanError(cases), 10.0, name)
	}
	require.Greater(t, covered(result.Own), 70.0)
	require.Less(t, meanError(result.Described), 30.0)
	for _, c := range result.Own {
		require.GreaterOrEqual(t, c.Low, c.Seen, "an interval is not below what was seen")
	}
}

// A described prediction does not know the runs of its own program and size.
func TestEvaluate_HidesTheSize(t *testing.T) {
	all := recordings()
	for n := range all {
		if all[n].Kind == "kind-1" && all[n].Batch == 64 {
			for i := range all[n].Memory {
				all[n].Memory[i] *= 20
			}
		}
	}
	missed := 0
	for _, c := range Evaluate(all).Described {
		if c.Likely < c.True/5 {
			missed++
		}
	}
	require.Equal(t, 2, missed)
}

func TestTwice_FollowsTheSlope(t *testing.T) {
	cases := twiceTheSize(recordings())
	require.Len(t, cases, 3*4)
	for _, c := range cases {
		if c.Measured == 1 {
			require.Greater(t, c.Predicted, c.True, "all memory is taken for the batch's")
			continue
		}
		require.Less(t, c.Error(), 0.1)
		require.Less(t, c.Below(), 0.1)
	}
}

func TestGoals(t *testing.T) {
	judged := map[string]bool{}
	for _, g := range Evaluate(recordings()).Goals() {
		require.LessOrEqual(t, g.Low, g.Value, g.Name)
		require.GreaterOrEqual(t, g.High, g.Value, g.Name)
		if g.Met != nil {
			judged[g.Name] = *g.Met
		}
	}
	require.Len(t, judged, 6)
	require.True(t, judged["twice the batch size, from several: largest underestimate"])
}

func TestRead(t *testing.T) {
	row := func(kind, batch, started, memory string) string {
		return header + strings.Join([]string{kind, batch, "1", "1000", "2e6", "400", started, memory}, ",") + "\n"
	}
	eight := "1 2 3 4 5 6 7 8"
	all, err := Read(strings.NewReader(row("mlp", "16", "1", "200 "+eight)))
	require.NoError(t, err)
	require.Equal(t, []Recording{{
		Kind: "mlp", Batch: 16, Seed: 1, Params: 1000, FLOPs: 2e6, Allocated: 400, Started: 1,
		Memory: []growth.MiB{200, 1, 2, 3, 4, 5, 6, 7, 8},
	}}, all)
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":                 {"", "is empty"},
		"other columns":           {"a,b\n1,2\n", "the columns are"},
		"no kind":                 {row("", "16", "0", eight), "column kind"},
		"no batch":                {row("mlp", "0", "0", eight), "column batch"},
		"a run that never starts": {row("mlp", "16", "8", eight), "0 of them after the first step"},
		"a short run":             {row("mlp", "16", "0", "1 2 3"), "8 after it are needed"},
		"a negative reading":      {row("mlp", "16", "0", eight+" -1"), "column memory_mib"},
		"a huge reading":          {row("mlp", "16", "0", eight+" 99999999"), "column memory_mib"},
		"too many readings":       {row("mlp", "16", "0", strings.Repeat("1 ", 700)), "600 at most"},
	} {
		_, err := Read(strings.NewReader(tc.text))
		require.ErrorContains(t, err, tc.want, name)
	}
}

// The recording that is published can be read, and its figures do not get worse unnoticed.
func TestEvaluate_ThePublishedRecording(t *testing.T) {
	file, err := os.Open("../../measured/memory.csv")
	if os.IsNotExist(err) {
		t.Skip("no recording is published")
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	all, err := Read(file)
	require.NoError(t, err)
	for _, g := range Evaluate(all).Goals() {
		t.Logf("%s: %.1f (%.1f to %.1f) %s", g.Name, g.Value, g.Low, g.High, g.Unit)
	}
}
