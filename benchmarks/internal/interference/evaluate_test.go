package interference

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// The shipped model predicts unseen sets of a few invented mixes. The benchmark judges it by its goals, on more of them and on
// measured sets.
func TestSynthetic_PredictsUnseenSets(t *testing.T) {
	var cases []Case
	for seed := range uint64(60) {
		some, err := Synthetic(seed + 1)
		require.NoError(t, err)
		cases = append(cases, some...)
	}
	for _, size := range []int{2, 3} {
		some := ofSize(cases, size)
		t.Logf("%d jobs: %d cases, median error %.3f (prior %.3f), covered %.3f", size, len(some), median(some, Case.Error), median(some, Case.PriorError), covered(some))
		require.Less(t, median(some, Case.Error), 0.15)
		require.InDelta(t, 0.8, covered(some), 0.1)
	}
}

func TestStudy_TheFileHasNoInventedCases(t *testing.T) {
	cases := []Case{{Jobs: 2}}
	for _, tc := range []struct {
		study Study
		want  string
	}{
		{Study{Name: "n", Judged: true, Invented: true, Cases: cases}, `{"name": "n", "judged": true}`},
		{Study{Name: "n", Cases: cases}, `{"name": "n", "judged": false, "cases": [{"jobs": 2, "true": 0, "mean": 0, "low": 0, "high": 0, "prior": 0}]}`},
	} {
		data, err := json.Marshal(tc.study)
		require.NoError(t, err)
		require.JSONEq(t, tc.want, string(data))
	}
}
