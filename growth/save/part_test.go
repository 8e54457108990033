package save_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/save"
	"github.com/trellis-gpu/trellis/growth/wire"
)

func TestWhole(t *testing.T) {
	saved := save.PartOf("r", save.Outcome{Saved: &wire.Saved{Path: "/a", SHA256: "0f", Step: 9}})
	nothing := save.PartOf("r", save.Outcome{Reason: "none", Nothing: true})
	failed := save.PartOf("r", save.Outcome{Reason: "the volume is full"})
	for name, tc := range map[string]struct {
		parts  []save.Part
		path   string
		reason string
	}{
		"one node saves":      {[]save.Part{nothing, saved}, "/a", ""},
		"one node has failed": {[]save.Part{saved, failed}, "", "the volume is full"},
		"no node saves":       {[]save.Part{nothing, nothing}, "", "none of its processes has anything to save"},
	} {
		t.Run(name, func(t *testing.T) {
			o := save.Whole(tc.parts)
			require.Equal(t, tc.path == "", o.Saved == nil)
			if o.Saved != nil {
				require.Equal(t, wire.Saved{Path: "/a", SHA256: "0f", Step: 9}, *o.Saved)
				return
			}
			require.Equal(t, tc.reason, o.Reason)
		})
	}
}
