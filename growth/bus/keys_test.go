package bus_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/programs"
)

func TestParseKey_InvertsTheBuilders(t *testing.T) {
	program := programs.IDOf("team-a", "train loss:min")
	for name, k := range map[string]struct {
		key  string
		want bus.Key
	}{
		"gpus":        {bus.GPUsKey("n1"), bus.Key{Kind: bus.KindGPUs, Node: "n1"}},
		"load":        {bus.LoadKey("node-1.example.com"), bus.Key{Kind: bus.KindLoad, Node: "node-1.example.com"}},
		"allocation":  {bus.AllocationKey("n1", "uid"), bus.Key{Kind: bus.KindAllocation, Node: "n1", Pod: "uid"}},
		"reservation": {bus.ReservationKey("n1", "uid"), bus.Key{Kind: bus.KindReservation, Node: "n1", Pod: "uid"}},
		"speeds":      {bus.SpeedsKey("n1"), bus.Key{Kind: bus.KindSpeeds, Node: "n1"}},
		"epoch":       {bus.EpochKey("n1", "GPU-5c7f"), bus.Key{Kind: bus.KindEpoch, Node: "n1", GPU: "GPU-5c7f"}},
		"sample":      {bus.SampleKey("0f4b-11"), bus.Key{Kind: bus.KindSample, Pod: "0f4b-11"}},
		"advice":      {bus.AdviceKey("0f4b-11"), bus.Key{Kind: bus.KindAdvice, Pod: "0f4b-11"}},
		"origin":      {bus.OriginKey("0f4b-11"), bus.Key{Kind: bus.KindOrigin, Pod: "0f4b-11"}},
		"model":       {bus.ModelKey("interference"), bus.Key{Kind: bus.KindModel, Name: "interference"}},
		"move":        {bus.MoveKey("uid"), bus.Key{Kind: bus.KindMove, Pod: "uid"}},
		"moved":       {bus.MovedKey("owner.2"), bus.Key{Kind: bus.KindMoved, Name: "owner.2"}},
		"runs":        {bus.RunsKey("n1", program), bus.Key{Kind: bus.KindRuns, Node: "n1", Program: program}},
		"program":     {bus.ProgramKey(program), bus.Key{Kind: bus.KindProgram, Program: program}},
		"gang":        {bus.GangKey("0f4b11", "n1"), bus.Key{Kind: bus.KindGang, Name: "0f4b11", Node: "n1"}},
		"refusal":     {bus.RefusalKey("uid"), bus.Key{Kind: bus.KindRefusal, Pod: "uid"}},
		"width":       {bus.WidthKey("uid"), bus.Key{Kind: bus.KindWidth, Pod: "uid"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := bus.ParseKey(k.key)
			require.NoError(t, err)
			require.Equal(t, k.want, got)
			require.Equal(t, k.key, got.String())
		})
	}
}

func TestKeys_AreBelowTheirPrefixes(t *testing.T) {
	require.True(t, strings.HasPrefix(bus.AllocationKey("n1", "u"), bus.AllocationsPrefix("n1")))
	require.True(t, strings.HasPrefix(bus.ReservationKey("n1", "u"), bus.ReservationsPrefix("n1")))
	require.True(t, strings.HasPrefix(bus.LoadKey("n1"), bus.NodePrefix("n1")))
	require.False(t, strings.HasPrefix(bus.LoadKey("n10"), bus.NodePrefix("n1")), "another node's name is a prefix of this one's")
}

func TestParseKey_RejectsUnknownKeys(t *testing.T) {
	for name, key := range map[string]string{
		"an empty key":                  "",
		"another product":               "/registry/pods/a",
		"another version":               "/trellis/v2/nodes/n/gpus",
		"only the prefix":               bus.Prefix,
		"an unknown kind":               "/trellis/v1/nodes/n/fans",
		"an empty name":                 "/trellis/v1/nodes//gpus",
		"too deep":                      "/trellis/v1/jobs/u/sample/x",
		"a kind in the wrong place":     "/trellis/v1/jobs/u/gpus",
		"a program without a namespace": bus.Programs + ":0123456789abcdef",
		"a program without a digest":    bus.Programs + "team-a",
		"runs of no program":            bus.Runs + "n",
		"a space":                       "/trellis/v1/models/a b",
		"a newline":                     "/trellis/v1/models/a\n",
		"a name that is too long":       bus.ModelKey(strings.Repeat("m", 254)),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bus.ParseKey(key)
			require.Error(t, err)
			require.Less(t, len(err.Error()), 400, "an error quotes a bounded part of the key")
		})
	}
}

// FuzzBuiltKeys builds keys of every kind from arbitrary names. A key parses again exactly if its names are valid.
func FuzzBuiltKeys(f *testing.F) {
	f.Add("node-1.example.com", "0f4b-11")
	f.Add("n/reservations", "u")
	f.Add("", "..")
	f.Add("n", "MIG-GPU-1/7/0")
	f.Fuzz(func(t *testing.T, a, b string) {
		node, pod := growth.NodeName(a), growth.PodUID(b)
		for _, key := range []bus.Key{
			{Kind: bus.KindGPUs, Node: node},
			{Kind: bus.KindLoad, Node: node},
			{Kind: bus.KindAllocation, Node: node, Pod: pod},
			{Kind: bus.KindReservation, Node: node, Pod: pod},
			{Kind: bus.KindEpoch, Node: node, GPU: growth.GPU(b)},
			{Kind: bus.KindSample, Pod: pod},
			{Kind: bus.KindAdvice, Pod: pod},
			{Kind: bus.KindMove, Pod: pod},
			{Kind: bus.KindRefusal, Pod: pod},
			{Kind: bus.KindModel, Name: b},
			{Kind: bus.KindGang, Name: b, Node: node},
			{Kind: bus.KindRuns, Node: node, Program: programs.IDOf("team-a", b)},
			{Kind: bus.KindProgram, Program: programs.IDOf(programs.Shared, b)},
		} {
			got, err := bus.ParseKey(key.String())
			validNames := (key.Node == "" || bus.ValidName(key.Node)) && (key.Pod == "" || bus.ValidName(key.Pod))
			switch {
			case err == nil:
				require.Equal(t, key.String(), got.String())
			case validNames && a != "" && bus.ValidName(b):
				t.Fatalf("%s: %v", key, err)
			}
		}
	})
}

func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{
		bus.GPUsKey("n"), bus.LoadKey("n"), bus.AllocationKey("n", "u"), bus.ReservationKey("n", "u"), bus.EpochKey("n", "GPU-0"), bus.SampleKey("u"),
		bus.AdviceKey("u"), bus.ModelKey("m"), bus.MoveKey("u"), bus.RunsKey("n", programs.IDOf("ns", "p")),
		bus.ProgramKey(programs.IDOf("ns", "p")), "/trellis/v1/nodes/../gpus", "/trellis/v1/", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if parsed, err := bus.ParseKey(key); err == nil {
			require.Equal(t, key, parsed.String())
		}
	})
}
