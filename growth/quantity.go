package growth

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// MiB is an amount of memory in mebibytes. It is signed: free memory of an over-committed GPU is negative instead of
// wrapping around to a huge amount.
type MiB int64

// GiB is 1024 MiB.
const GiB MiB = 1024

// String formats whole gibibytes as "8GiB" and everything else as "500MiB".
func (m MiB) String() string {
	if m != 0 && m%GiB == 0 {
		return strconv.FormatInt(int64(m/GiB), 10) + "GiB"
	}
	return strconv.FormatInt(int64(m), 10) + "MiB"
}

// MilliCPU is an amount of CPU in thousandths of a core, the unit of Kubernetes CPU requests.
type MilliCPU int64

// Core is one whole core.
const Core MilliCPU = 1000

// Cores returns the amount in cores.
func (m MilliCPU) Cores() float64 { return float64(m) / float64(Core) }

// String returns Kubernetes notation, such as "250m".
func (m MilliCPU) String() string { return fmt.Sprintf("%dm", int64(m)) }

// Share is a fraction of a resource that jobs share, 0..1.
type Share float64

// Of returns the share of a CPU pool. It rounds down, so the sum over all jobs never exceeds the pool.
func (s Share) Of(pool MilliCPU) MilliCPU {
	return MilliCPU(math.Floor(float64(s)*float64(pool) + 1e-6))
}

// String returns a percentage, such as "25%".
func (s Share) String() string { return fmt.Sprintf("%.0f%%", 100*float64(s)) }

// Growth is the scale-free growth efficiency g of a job, 0..1: the current gain per Work relative to the largest one that
// the job has shown.
type Growth float64

// PerSecond is a rate, such as the progress of a metric or training samples per second.
type PerSecond float64

// Seconds is a measured or computed duration, such as a step time. Configured durations are time.Duration.
type Seconds float64

// Duration converts s to a time.Duration. It saturates instead of overflowing.
func (s Seconds) Duration() time.Duration {
	if f := float64(s) * float64(time.Second); math.Abs(f) < math.MaxInt64 {
		return time.Duration(f)
	}
	return time.Duration(math.MaxInt64)
}

// Work is an amount of work in the seconds of one processor. The Unit next to it says whether that is a core or a GPU;
// without a Unit it is a core.
type Work float64

// Slowdown is a job's step time on a shared GPU divided by its step time on a GPU of its own, ≥ 1.
type Slowdown float64
