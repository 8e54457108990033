package peaks

import (
	"github.com/trellis-gpu/trellis/growth"
)

const (
	// MaxBlocks is the largest number of blocks of a profile. It is even.
	MaxBlocks = 16
	// minLength and maxLength bound the length of a block.
	minLength, maxLength growth.Seconds = 1, 30 * 24 * 3600
)

// The bounds of a reading. Others are ignored.
const (
	maxCPU    growth.MilliCPU = 10_000 * growth.Core
	maxMemory growth.MiB      = 64 << 20 // 64 TiB
)

// Use is what a job uses at one time, or at most in some time. 0 is unknown.
type Use struct {
	CPU growth.MilliCPU `json:"cpuMilli,omitempty"`
	// Memory is resident memory.
	Memory growth.MiB `json:"memoryMiB,omitempty"`
	// GPUReserved is what the job's framework has reserved on each GPU at most, without the driver's context. GPUUsed is all that the
	// processes of the job have on the GPU where they have most, as the driver says.
	GPUReserved growth.MiB `json:"gpuMemoryMiB,omitempty"`
	GPUUsed     growth.MiB `json:"gpuUsedMiB,omitempty"`
}

// valid returns the use without values that are out of bounds.
func (u Use) valid() Use {
	if u.CPU < 0 || u.CPU > maxCPU {
		u.CPU = 0
	}
	for _, m := range []*growth.MiB{&u.Memory, &u.GPUReserved, &u.GPUUsed} {
		if *m < 0 || *m > maxMemory {
			*m = 0
		}
	}
	return u
}

func (u Use) max(other Use) Use {
	return Use{
		CPU:         max(u.CPU, other.CPU),
		Memory:      max(u.Memory, other.Memory),
		GPUReserved: max(u.GPUReserved, other.GPUReserved),
		GPUUsed:     max(u.GPUUsed, other.GPUUsed),
	}
}

// gpuContext is the memory on a GPU that the driver's context of a job needs. Frameworks do not report it.
const gpuContext growth.MiB = 512

// GPU is the memory that the job needs on each GPU; 0 if it is unknown. What the driver says includes the contexts. It is read at
// intervals, so that it may miss a peak that the framework has reported.
func (u Use) GPU() growth.MiB {
	switch {
	case u.GPUUsed > 0:
		return max(u.GPUUsed, u.GPUReserved)
	case u.GPUReserved > 0:
		return u.GPUReserved + gpuContext
	}
	return 0
}

// Profile is a job's largest use in each of some blocks of equal length.
type Profile struct {
	// Length is the length of a block, Open the part of the last one that has passed.
	Length growth.Seconds `json:"blockSeconds"`
	Open   growth.Seconds `json:"openSeconds"`
	// Blocks are in the order of time.
	Blocks []Use `json:"blocks"`
}

// Add returns the profile with a reading, some time after the last one. It does not change p.
func (p Profile) Add(u Use, since growth.Seconds) Profile {
	u = u.valid()
	if u == (Use{}) || !(since >= 0) {
		return p
	}
	p = p.Valid()
	if len(p.Blocks) == 0 {
		return Profile{Length: min(max(since, minLength), maxLength), Blocks: []Use{u}}
	}
	p.Blocks = append([]Use(nil), p.Blocks...)
	p.Open += min(since, p.Length)
	if p.Open < p.Length {
		last := &p.Blocks[len(p.Blocks)-1]
		*last = last.max(u)
		return p
	}
	p.Open -= p.Length
	if len(p.Blocks) == MaxBlocks {
		p = p.halved()
	}
	p.Blocks = append(p.Blocks, u)
	return p
}

// halved joins pairs of blocks.
func (p Profile) halved() Profile {
	joined := make([]Use, 0, MaxBlocks)
	for n := 0; n+1 < len(p.Blocks); n += 2 {
		joined = append(joined, p.Blocks[n].max(p.Blocks[n+1]))
	}
	return Profile{Length: min(2*p.Length, maxLength), Open: p.Open, Blocks: joined}
}

// Peak is the largest use so far.
func (p Profile) Peak() (u Use) {
	for _, b := range p.Valid().Blocks {
		u = u.max(b)
	}
	return u
}

// Valid returns the profile within the bounds of this package: a record of another program may have any values.
func (p Profile) Valid() Profile {
	if !(p.Length >= minLength && p.Length <= maxLength && p.Open >= 0 && p.Open <= p.Length) || len(p.Blocks) > MaxBlocks {
		return Profile{}
	}
	for n, b := range p.Blocks {
		if b == b.valid() {
			continue
		}
		valid := append([]Use(nil), p.Blocks...)
		for i := n; i < len(valid); i++ {
			valid[i] = valid[i].valid()
		}
		p.Blocks = valid
		break
	}
	return p
}
