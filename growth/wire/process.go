package wire

import "fmt"

// MaxRanks bounds the world size of a job, and with it the ranks.
const MaxRanks = 1 << 20

// Process identifies the process of a distributed job that has sent a line. Each field is absent if the process does
// not know it. Shims of the previous release send none of them.
type Process struct {
	// Rank numbers the processes of the job, LocalRank the processes of the job on one node or in one pod. Both start
	// at 0.
	Rank      *int `json:"rank,omitempty"`
	LocalRank *int `json:"local_rank,omitempty"`
	// WorldSize is the number of processes of the job. 0 means unknown.
	WorldSize int `json:"world_size,omitempty"`
}

func (p Process) check() error {
	if p.WorldSize < 0 || p.WorldSize > MaxRanks {
		return fmt.Errorf("world size %d, 1 to %d", p.WorldSize, MaxRanks)
	}
	ranks := MaxRanks
	if p.WorldSize > 0 {
		ranks = p.WorldSize
	}
	if p.Rank != nil && (*p.Rank < 0 || *p.Rank >= ranks) {
		return fmt.Errorf("rank %d of %d", *p.Rank, ranks)
	}
	if p.LocalRank != nil && (*p.LocalRank < 0 || *p.LocalRank >= ranks) {
		return fmt.Errorf("local rank %d of %d", *p.LocalRank, ranks)
	}
	return nil
}
