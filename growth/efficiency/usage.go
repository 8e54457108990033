package efficiency

import "github.com/trellis-gpu/trellis/growth"

// Usage is a job's usage of FlowCon's four resources since it was created.
type Usage struct {
	// Work is the CPU time, or the GPU time where that is divided. It is valid if Known is set.
	Work  growth.Work
	Known bool
	// Memory is the resident memory at present; 0 if unknown.
	Memory growth.MiB
	// BlockIO is the sum of bytes read and written, NetworkIO of bytes received and sent; 0 if unknown.
	BlockIO, NetworkIO int64
}

// PerResource is a job's growth efficiency G per resource (FlowCon eq. 4.2): P divided by the mean usage since the last
// sample. A value is 0 if the usage is unknown or 0. Only CPU decides the category; the other values are published.
type PerResource struct {
	CPU PerWork
	// Memory is in the metric's unit per GiB-second.
	Memory float64
	// BlockIO and NetworkIO are in the metric's unit per MiB transferred.
	BlockIO, NetworkIO float64
}

// meanUse is the mean usage over an interval.
type meanUse struct {
	known   bool
	cpu     float64 // cores
	memory  float64 // GiB
	io, net float64 // MiB per second
}

const mebibyte = 1 << 20

// since returns the mean usage since an earlier reading. A counter that went back has restarted and counts as 0.
func (u Usage) since(before Usage, elapsed float64) meanUse {
	rate := func(now, then float64) float64 { return max(now-then, 0) / elapsed }
	return meanUse{
		known:  u.Known && before.Known,
		cpu:    rate(float64(u.Work), float64(before.Work)),
		memory: float64(u.Memory) / float64(growth.GiB),
		io:     rate(float64(u.BlockIO), float64(before.BlockIO)) / mebibyte,
		net:    rate(float64(u.NetworkIO), float64(before.NetworkIO)) / mebibyte,
	}
}

// cores returns the mean CPU usage, at least minimum. Unknown usage counts as one core: a constant cancels out of g.
func (u meanUse) cores(minimum float64) float64 {
	if !u.known {
		return 1
	}
	return max(u.cpu, minimum)
}

func (u meanUse) efficiencies(p growth.PerSecond) PerResource {
	by := func(use float64) float64 {
		if use <= 0 {
			return 0
		}
		return divide(float64(p), use)
	}
	per := PerResource{
		Memory:    by(u.memory),
		BlockIO:   by(u.io),
		NetworkIO: by(u.net),
	}
	if u.known {
		per.CPU = PerWork(by(u.cpu))
	}
	return per
}
