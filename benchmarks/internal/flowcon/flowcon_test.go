package flowcon_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/flowcon"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestSchedules_MatchTheStudy(t *testing.T) {
	all := flowcon.Schedules(1)
	require.Equal(t, all, flowcon.Schedules(1), "the same seed")
	require.NotEqual(t, all, flowcon.Schedules(2))
	for i, tc := range []struct {
		name string
		jobs int
	}{{"3 fixed", 3}, {"5 random", 5}, {"10 random", 10}, {"15 random", 15}} {
		s := all[i]
		require.Equal(t, tc.name, s.Name)
		require.Len(t, s.Jobs, tc.jobs)
		require.Zero(t, s.Jobs[0].Arrival)
		var memory int64
		for j, job := range s.Jobs {
			require.LessOrEqual(t, job.Arrival, 100*time.Second)
			require.True(t, j == 0 || s.Jobs[j-1].Arrival <= job.Arrival)
			asked, err := gpushare.ParseMemory(job.GPUMemory)
			require.NoError(t, err)
			memory += int64(asked)
		}
		require.LessOrEqual(t, memory, int64(48<<10), "all of them fit on one node")
		require.Len(t, s.Quick().Jobs, tc.jobs)
		require.Less(t, s.Quick().Jobs[0].Steps, s.Jobs[0].Steps/7)
	}
}

func TestSchedule_RepeatedDrawsOtherSeeds(t *testing.T) {
	s := flowcon.Schedules(1)[3]
	require.Equal(t, s, s.Repeated(1))
	seen := map[uint32]bool{}
	for n := range 5 {
		repeated := s.Repeated(n + 1)
		for i := range repeated.Jobs {
			require.False(t, seen[repeated.Jobs[i].Seed], "each repeat has its own seeds")
			seen[repeated.Jobs[i].Seed] = true
			repeated.Jobs[i].Seed = s.Jobs[i].Seed
		}
		require.Equal(t, s, repeated)
	}
}

func record(schedule, policy string, repeat int, completions ...float64) flowcon.Record {
	r := flowcon.Record{Schedule: schedule, Policy: policy, Repeat: repeat, Makespan: completions[len(completions)-1]}
	for i, c := range completions {
		r.Jobs = append(r.Jobs, flowcon.Job{Name: string(rune('a' + i)), Completion: c, Target: c / 2})
	}
	return r
}

func TestPlan_ListsMissingPasses(t *testing.T) {
	schedules, policies := flowcon.Schedules(1)[:2], []string{"fair", "harmless"}
	names := func(passes []flowcon.Pass) (all []string) {
		for _, p := range passes {
			all = append(all, p.String())
		}
		return all
	}
	require.Equal(t, []string{
		"3 fixed, fair, repeat 1", "3 fixed, harmless, repeat 1", "5 random, fair, repeat 1", "5 random, harmless, repeat 1",
		"3 fixed, harmless, repeat 2", "3 fixed, fair, repeat 2", "5 random, harmless, repeat 2", "5 random, fair, repeat 2",
	}, names(flowcon.Plan(schedules, policies, 2, 1, nil, "")), "policies take turns, forward and backward")
	done := []flowcon.Record{record("3 fixed", "fair", 1, 1), record("5 random", "harmless", 1, 1), record("3 fixed", "fair", 2, 1)}
	require.Equal(t, []string{
		"3 fixed, harmless, repeat 1", "5 random, fair, repeat 1", "3 fixed, harmless, repeat 2", "5 random, harmless, repeat 2", "5 random, fair, repeat 2",
	}, names(flowcon.Plan(schedules, policies, 2, 1, done, "")))
	require.Len(t, flowcon.Plan(schedules, policies, 4, 2, nil, ""), 8, "two nodes run two repeats at once")
	require.Equal(t, []string{
		"3 fixed, fair, repeat 1 2", "3 fixed, harmless, repeat 2", "3 fixed, harmless, repeat 3", "3 fixed, fair, repeat 3",
	}, names(flowcon.Plan(schedules[:1], policies, 3, 2, []flowcon.Record{record("3 fixed", "harmless", 1, 1)}, "")),
		"a change of the number of nodes leaves no repeat out and runs none twice")
}

func TestPlan_RepeatsUnfinishedPassesOfAnotherBoot(t *testing.T) {
	schedules, policies := flowcon.Schedules(1)[:1], []string{"fair", "harmless"}
	in := func(boot string, r flowcon.Record) flowcon.Record {
		r.Boot = boot
		return r
	}
	done := []flowcon.Record{
		in("monday", record("3 fixed", "fair", 1, 100)), in("monday", record("3 fixed", "harmless", 1, 50)),
		in("monday", record("3 fixed", "fair", 2, 100)),
	}
	left := func(boot string) (all []string) {
		for _, p := range flowcon.Plan(schedules, policies, 2, 1, done, boot) {
			all = append(all, p.String())
		}
		return all
	}
	require.Equal(t, []string{"3 fixed, harmless, repeat 2"}, left("monday"))
	require.Equal(t, []string{"3 fixed, harmless, repeat 2", "3 fixed, fair, repeat 2"}, left("tuesday"))

	done = append(done, in("tuesday", record("3 fixed", "harmless", 2, 200)))
	require.Equal(t, []string{"3 fixed, fair, repeat 2"}, left("tuesday"))
	for _, g := range flowcon.Goals(done) {
		require.Zero(t, g.High-g.Low, "%s: only one repeat has run under both policies in one boot", g.Name)
	}
	done = append(done, in("tuesday", record("3 fixed", "fair", 2, 400)))
	require.Empty(t, left("tuesday"))
	require.Equal(t, -50., flowcon.Goals(done)[0].High, "compared within one boot")
}

func TestGoals_CompareWithinARepeat(t *testing.T) {
	goals := flowcon.Goals([]flowcon.Record{
		record("10 random", "fair", 1, 100, 200), record("10 random", "harmless", 1, 10, 190),
		record("10 random", "fair", 2, 200, 400), record("10 random", "harmless", 2, 100, 420),
		record("10 random", "harmless", 3, 1, 1), // has no baseline
		record("10 random", "flowcon", 2, 150, 410),
		record("3 fixed", "fair", 1, 100), record("3 fixed", "flowcon", 1, 110),
	})
	values := map[string][3]float64{}
	met := map[string]bool{}
	for _, g := range goals {
		values[g.Name] = [3]float64{g.Low, g.Value, g.High}
		if g.Met != nil {
			met[g.Name] = *g.Met
		}
	}
	require.Equal(t, [3]float64{-33.33, -23.33, -13.33}, values["10 random, harmless: mean completion"])
	require.Equal(t, [3]float64{-90, -70, -50}, values["10 random, harmless: best job"])
	require.Equal(t, [3]float64{-5, 0, 5}, values["10 random, harmless: worst job"])
	require.Equal(t, [3]float64{10, 10, 10}, values["3 fixed, flowcon: mean time to 95 % of the metric"])
	require.Equal(t, [3]float64{2, 2, 2}, values["10 random, harmless: jobs with a time to 95 %"])
	require.Equal(t, map[string]bool{
		"10 random, harmless: mean completion": false, "10 random, harmless: mean time to 95 % of the metric": false, "10 random, harmless: best job": false,
		"10 random, harmless: worst job": true, "10 random, harmless: makespan": true,
		"10 random, harmless less flowcon: mean completion": true, "10 random, harmless less flowcon: mean time to 95 % of the metric": true,
		"10 random, harmless less flowcon: best job": true, "10 random, harmless less flowcon: worst job": false, "10 random, harmless less flowcon: makespan": false,
	}, met, "only the schedule of ten jobs has targets")
	require.Equal(t, [3]float64{-25, -25, -25}, values["10 random, harmless less flowcon: best job"], "over the repeats of both policies")
}

func TestGoals_OnAGPUBoundTheHarmOnly(t *testing.T) {
	records := []flowcon.Record{record("10 random", "fair", 1, 100, 200), record("10 random", "harmless", 1, 99, 212)}
	for i := range records {
		records[i].OnGPU = true
	}
	judged := map[string]bool{}
	for _, g := range flowcon.Goals(records) {
		if g.Met != nil {
			judged[g.Name] = *g.Met
		}
	}
	require.Equal(t, map[string]bool{"10 random, harmless: worst job": false}, judged)
}

func TestJournal_Continues(t *testing.T) {
	journal := flowcon.Journal{Path: filepath.Join(t.TempDir(), "results", "flowcon.jsonl")}
	none, err := journal.Read()
	require.NoError(t, err)
	require.Empty(t, none)
	first, second := record("3 fixed", "fair", 1, 1, 2), record("3 fixed", "harmless", 1, 3)
	require.NoError(t, journal.Add(first))
	require.NoError(t, journal.Add(second))
	read, err := journal.Read()
	require.NoError(t, err)
	require.Equal(t, []flowcon.Record{first, second}, read)

	text, err := os.ReadFile(journal.Path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(journal.Path, text[:len(text)-20], 0o600))
	_, err = journal.Read()
	require.ErrorContains(t, err, "line 2", "the error names the incomplete line")
}

func TestSettings_OfAllRecords(t *testing.T) {
	require.Nil(t, flowcon.Settings([]flowcon.Record{{}}), "journals of older versions have none")
	require.Equal(t, map[string]string{"coordinator --interval": "5s"}, flowcon.Settings([]flowcon.Record{
		{Settings: map[string]string{"coordinator --interval": "5s", "coordinator --policy": "fair", "tuner replicas": "1"}},
		{},
		{Settings: map[string]string{"coordinator --interval": "5s", "coordinator --policy": "harmless"}},
	}))
}

func TestCommits_OfAllRecords(t *testing.T) {
	require.Equal(t, "f082cedb, bded8650", flowcon.Commits([]flowcon.Record{{Commit: "f082cedb"}, {Commit: "bded8650"}, {Commit: "f082cedb"}}))
}

func TestNodesFor_ATeacherNeedsANodeOfItsOwn(t *testing.T) {
	for name, tc := range map[string]struct {
		variants        []string
		nodes           int
		needed, playing int
	}{
		"no teacher":             {[]string{"fair", "harmless"}, 2, 2, 2},
		"taught by itself":       {[]string{"fair", "harmless+here"}, 1, 1, 1},
		"taught by another node": {[]string{"fair", "harmless+here", "harmless+elsewhere"}, 1, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			needed, playing := flowcon.NodesFor(tc.variants, tc.nodes)
			require.Equal(t, tc.needed, needed)
			require.Equal(t, tc.playing, playing)
		})
	}
}

func TestGoals_CompareWhatAnotherNodeHasSeen(t *testing.T) {
	goals := flowcon.Goals([]flowcon.Record{
		record("10 random", "fair", 1, 100, 200), record("10 random", "harmless+here", 1, 50, 100),
		record("10 random", "harmless+elsewhere", 1, 50, 106),
	})
	found := false
	for _, g := range goals {
		if g.Name == "10 random, harmless+elsewhere less harmless+here: mean completion" {
			found = true
			require.InDelta(t, 2, g.Value, 1e-9)
			require.True(t, *g.Met)
		}
	}
	require.True(t, found)
}
