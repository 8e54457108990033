package plugin

import (
	"context"
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
)

const (
	// holderTimeout bounds the wait for the end of a pod that kubelet knows before the pod watch does.
	holderTimeout = time.Second
	holderPoll    = 20 * time.Millisecond
)

// checkUnheld rejects ids that a live pod holds by the node's own records, although kubelet offers them.
func (s *Server) checkUnheld(ctx context.Context, ids []string) error {
	blockers := s.blockers(ctx, ids)
	if len(blockers) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, holderTimeout)
	defer cancel()
	poll := time.NewTicker(holderPoll)
	defer poll.Stop()
	for {
		select {
		case <-poll.C:
			if blockers = s.blockers(ctx, ids); len(blockers) == 0 {
				return nil
			}
		case <-ctx.Done():
			s.Metrics.OfferedTwice.Add(float64(overlap(ids, blockers)))
			return fmt.Errorf(
				"kubelet has forgotten that pod %s (container %s) holds %s of this memory, because its file "+
					"kubelet_internal_checkpoint was lost or damaged: that pod keeps its memory; this one fits elsewhere, or "+
					"once a job here has ended",
				blockers[0].Name, blockers[0].Container, growth.MiB(overlap(ids, blockers[:1]))*s.Unit)
		}
	}
}

// blockers returns the containers whose ids must not be allocated again.
func (s *Server) blockers(ctx context.Context, ids []string) []slice.Holding {
	holdings := s.Allocations.Holdings()
	if len(slice.Holders(holdings, ids)) == 0 {
		return nil
	}
	return slice.Blockers(ids, s.Allocations.AwaitDemand(ctx, len(ids)), holdings)
}

// overlap counts the ids that the holders have.
func overlap(ids []string, holders []slice.Holding) int {
	n := 0
	for _, id := range ids {
		if len(slice.Holders(holders, []string{id})) > 0 {
			n++
		}
	}
	return n
}
