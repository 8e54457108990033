package efficiency

import "github.com/trellis-gpu/trellis/growth"

// Usage is what a job has used since it was made, FlowCon's four resources. Known is false where CPU time could not be
// read; of the others, what could not be read is 0.
type Usage struct {
	CoreSeconds growth.Seconds
	Known       bool
	// State is what is resident now.
	Memory growth.MiB
	// BlockIO and NetworkIO are bytes, read and written, received and sent.
	BlockIO, NetworkIO int64
}

// PerResource is a job's growth efficiency G on each resource (FlowCon eq. 4.2), P over the mean use of the resource
// since the last sample: 0 where that is not known or nothing was used. CPU alone decides the category; the others are
// for who wants to know what a job's learning costs.
type PerResource struct {
	CPU PerCoreSecond
	// State is per GiB resident and second, BlockIO and NetworkIO per MiB moved, all in the metric's unit.
	Memory, BlockIO, NetworkIO float64
}

// used is the mean use over a time.
type meanUse struct {
	known   bool
	cpu     float64 // cores
	memory  float64 // GiB
	io, net float64 // MiB per second
}

const mebibyte = 1 << 20

// since is the use between before and now. A counter that went back has begun anew.
func (u Usage) since(before Usage, elapsed float64) meanUse {
	rate := func(now, then float64) float64 { return max(now-then, 0) / elapsed }
	return meanUse{
		known:  u.Known && before.Known,
		cpu:    rate(float64(u.CoreSeconds), float64(before.CoreSeconds)),
		memory: float64(u.Memory) / float64(growth.GiB),
		io:     rate(float64(u.BlockIO), float64(before.BlockIO)) / mebibyte,
		net:    rate(float64(u.NetworkIO), float64(before.NetworkIO)) / mebibyte,
	}
}

// cores is the mean CPU use, at least idle. Unknown use counts as one core: a constant cancels out of g.
func (u meanUse) cores(idle float64) float64 {
	if !u.known {
		return 1
	}
	return max(u.cpu, idle)
}

func (u meanUse) efficiencies(p growth.PerSecond) PerResource {
	by := func(use float64) float64 {
		if use <= 0 {
			return 0
		}
		return divide(float64(p), use)
	}
	per := PerResource{Memory: by(u.memory), BlockIO: by(u.io), NetworkIO: by(u.net)}
	if u.known {
		per.CPU = PerCoreSecond(by(u.cpu))
	}
	return per
}
