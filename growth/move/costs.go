package move

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
)

// times are the seconds that a move took, and those of its parts as far as they were measured. It begins with a number, which is all
// that earlier releases read.
func (p Past) times() string {
	took := fmt.Sprintf("%.1f", float64(p.Took))
	if p.Save+p.Start+p.Restore == 0 {
		return took
	}
	image := ""
	if p.NoImage {
		image = " with its image"
	}
	return fmt.Sprintf("%s (save %.1f, replace %.1f, start %.1f%s, restore %.1f)",
		took, float64(p.Save), float64(p.Replaced), float64(p.Start), image, float64(p.Restore))
}

// Cost returns the mean time that the moves that have succeeded took without images, so that of a move to a node that has them. ok is
// false if none has succeeded.
func (h History) Cost() (mean growth.Seconds, ok bool) {
	n := 0
	for _, p := range h.Past {
		if p.State != Done {
			continue
		}
		n++
		mean += p.Took
		if p.NoImage {
			mean -= p.Start
		}
	}
	return mean / growth.Seconds(max(1, n)), n > 0
}

// Pull returns the mean time that nodes without the job's image took to start it. ok is false if there was none.
func (h History) Pull() (mean growth.Seconds, ok bool) {
	n := 0
	for _, p := range h.Past {
		if p.State == Done && p.NoImage {
			n++
			mean += p.Start
		}
	}
	return mean / growth.Seconds(max(1, n)), n > 0
}
