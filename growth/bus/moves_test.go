package bus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

func TestMovedJob_RemembersTheNamesOfItsPods(t *testing.T) {
	for name, tc := range map[string]struct {
		pods, want []string
	}{
		"a Job gives new names":            {[]string{"a", "b", "b", "c"}, []string{"a", "b", "c"}},
		"a StatefulSet gives the same one": {[]string{"a", "a"}, []string{"a"}},
		"the last ones": {
			[]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"},
			[]string{"3", "4", "5", "6", "7", "8", "9", "10"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var job bus.MovedJob
			for _, pod := range tc.pods {
				job.Seen(growth.PodRef{Name: pod})
			}
			require.Equal(t, tc.want, job.Names)
			require.Equal(t, tc.want[len(tc.want)-1], job.Pod.Name)
		})
	}
}
