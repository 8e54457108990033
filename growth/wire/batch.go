package wire

import (
	"errors"
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
)

// Bounds of what a job reports about its batch size.
const (
	maxRule              = 32
	maxMemory growth.MiB = 1 << 30
)

// checkBatch checks what a job reports about its batch size. An unknown rule is valid, so that shims may be newer.
func (p Progress) checkBatch() error {
	if b := p.Batch; b != nil && (b.Min < 1 || b.Min > b.Default || b.Default > b.Max || b.Max > maxBatch || len(b.LearningRate) > maxRule) {
		return fmt.Errorf("batch sizes %d to %d with default %d, 1 to %d", b.Min, b.Max, b.Default, maxBatch)
	}
	if p.GPUMemory < 0 || p.GPUMemory > maxMemory {
		return fmt.Errorf("%d MiB out of range", int64(p.GPUMemory))
	}
	if p.Gradients == nil {
		return nil
	}
	return p.Gradients.check()
}

func (g Gradients) check() error {
	for _, square := range []float64{g.SmallSquared, g.LargeSquared} {
		if !(square >= 0 && square <= maxMagnitude) {
			return errors.New("squared norm out of range")
		}
	}
	if g.Count < 1 || g.Count > maxCount || g.Small < 1 || g.Small >= g.Large || g.Large > maxCount {
		return fmt.Errorf("%d comparisons of %d and %d samples", g.Count, g.Small, g.Large)
	}
	return nil
}
