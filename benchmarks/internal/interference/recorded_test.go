package interference

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const header = "set,kind,activity,speed,deviation,seconds\n"

func TestRecorded_ReadsSets(t *testing.T) {
	sets, err := Recorded(strings.NewReader(header +
		"7,vae,1.000,0.5000,0.0100,3.5\n7,cnn,0.600,0.7000,0.0100,3.5\n8,cnn,0.600,0.4,0,3.5\n8,cnn,0.6,0.4,0,3.5\n8,vae,1,0.3,0,3.5\n"))
	require.NoError(t, err)
	require.Len(t, sets, 2)
	require.Len(t, sets[0].Set, 2)
	require.Len(t, sets[1].Set, 3)
	require.InDelta(t, 0.7, sets[0].Set[1].Speed, 1e-9)
	require.Equal(t, sets[1].Set[0].Kind, sets[1].Set[1].Kind)
	require.EqualValues(t, 3.5, sets[0].Seconds)
}

func TestRecorded_RefusesOtherFiles(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"an empty file":      {"", "the columns are not"},
		"other columns":      {"a,b\n", "the columns are not"},
		"a word as a speed":  {header + "1,vae,1,fast,0,3\n1,cnn,1,1,0,3\n", "line 2"},
		"a set of one job":   {header + "1,vae,1,0.5,0,3\n", "a set of 1 jobs"},
		"an impossible time": {header + "1,vae,1,0.5,0,-3\n1,vae,1,0.5,0,-3\n", "seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Recorded(strings.NewReader(tc.text))
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// The pairs that IADeep published are predicted from one another.
func TestPublished_PairsArePredictedFromTheOthers(t *testing.T) {
	studies, err := Studies(2, nil)
	require.NoError(t, err)
	require.Equal(t, "published by IADeep, unseen pairs", studies[0].Name)
	t.Logf("median error %.3f (prior %.3f), covered %.3f", median(studies[0].Cases, Case.Error), median(studies[0].Cases, Case.PriorError), covered(studies[0].Cases))
	require.Less(t, median(studies[0].Cases, Case.Error), 0.15)
	require.Len(t, Goals(studies), 12)
}
