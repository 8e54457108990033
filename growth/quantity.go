package growth

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// MiB is an amount of memory in mebibytes. It is signed so that a balance can be seen to go negative instead of
// wrapping into a huge amount of free memory.
type MiB int64

// GiB is 1024 MiB.
const GiB MiB = 1024

// String prints whole gibibytes as "8GiB" and everything else as "500MiB".
func (m MiB) String() string {
	if m != 0 && m%GiB == 0 {
		return strconv.FormatInt(int64(m/GiB), 10) + "GiB"
	}
	return strconv.FormatInt(int64(m), 10) + "MiB"
}

// MilliCPU is an amount of CPU in thousandths of a core, Kubernetes' own unit for CPU requests.
type MilliCPU int64

// Core is one whole core.
const Core MilliCPU = 1000

// Cores returns the amount in cores.
func (m MilliCPU) Cores() float64 { return float64(m) / float64(Core) }

// String prints Kubernetes' notation, such as "250m".
func (m MilliCPU) String() string { return fmt.Sprintf("%dm", int64(m)) }

// Share is a part of a whole that is divided among jobs, 0..1.
type Share float64

// Of returns the share's part of a pool of CPU, rounded down, so that parts never add up to more than the pool.
func (s Share) Of(pool MilliCPU) MilliCPU {
	return MilliCPU(math.Floor(float64(s)*float64(pool) + 1e-6))
}

// String prints per cent, such as "25%".
func (s Share) String() string { return fmt.Sprintf("%.0f%%", 100*float64(s)) }

// Growth is the scale-free growth efficiency g of a job: what a core second gains now over the most it ever gained,
// 0..1.
type Growth float64

// PerSecond is a rate: progress of a metric, or samples, per second.
type PerSecond float64

// Seconds is a duration that is measured or computed rather than configured, hence a float: step and load times.
type Seconds float64

// Duration converts to Go's own type, saturating instead of overflowing.
func (s Seconds) Duration() time.Duration {
	if f := float64(s) * float64(time.Second); math.Abs(f) < math.MaxInt64 {
		return time.Duration(f)
	}
	return time.Duration(math.MaxInt64)
}

// CoreSeconds is an amount of work: what one core does in so many seconds.
type CoreSeconds float64

// Slowdown is a job's step time beside others over its step time alone, ≥ 1.
type Slowdown float64
