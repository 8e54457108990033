package move

import (
	"fmt"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// MaxPods bounds the pods that move together: the records of all of them change in one transaction of the bus.
const MaxPods = 32

// Gang is the pods of one job that move together.
type Gang struct {
	Pods []growth.PodUID `json:"pods"`
}

// Together returns the records that follow for the pods of one move, in the same order: that of a pod that moves alone, or those
// of all pods of a gang. The caller replaces all of them in one transaction, if none of them has changed.
//
// The records of a gang change together until all of its pods may be evicted. That is the commit. Before it any failure aborts the
// move of every pod. After it every pod is evicted, and each record goes on by itself.
func (l Limits) Together(records []Record, seen []Seen, now time.Time) []Record {
	next := make([]Record, len(records))
	for i, r := range records {
		next[i], _ = l.Next(r, seen[i], now)
	}
	why, ready := l.verdict(records, next, seen, now)
	for i, r := range records {
		switch {
		case !r.uncommitted():
		case why != "":
			next[i] = r.abort(why, now)
		case !ready:
			next[i] = r
		}
	}
	return next
}

// uncommitted reports whether a record changes with those of its gang only.
func (r Record) uncommitted() bool {
	return r.Gang != nil && (r.State == Proposed || r.State == Saving)
}

// verdict returns why the gang does not move, and otherwise whether its records may change. next is what would follow for
// each pod if it moved alone.
func (l Limits) verdict(records, next []Record, seen []Seen, now time.Time) (why string, ready bool) {
	ready = true
	var step *int64
	for i, r := range records {
		switch {
		case r.Gang != nil && len(r.Gang.Pods) != len(records):
			return "the record of another pod of the job is missing", false
		case next[i].State == Aborted:
			return next[i].Why, false
		case next[i].Checkpoint != nil && step != nil && *step != next[i].Checkpoint.Step:
			return fmt.Sprintf("its pods have saved different steps, %d and %d", *step, next[i].Checkpoint.Step), false
		case r.uncommitted() && next[i].State == r.State:
			ready = false
		}
		if next[i].Checkpoint != nil {
			step = &next[i].Checkpoint.Step
		}
	}
	blocked := l.blocked(records, seen)
	if ready && blocked != "" && now.Sub(records[0].Since) > l.Save {
		return blocked, false
	}
	return "", ready && blocked == ""
}

// blocked returns why a pod of the gang could not be evicted, or why its successor could find its target full; "" if none.
func (l Limits) blocked(records []Record, seen []Seen) string {
	for i, r := range records {
		switch {
		case !r.uncommitted() || r.State != Saving:
		case !seen[i].Reserved:
			return fmt.Sprintf("no memory was reserved on node %s within %s", r.To, l.Save)
		case seen[i].Refused != "":
			return "the pods cannot be evicted: " + seen[i].Refused
		}
	}
	return ""
}

// committed waits until no old pod of the gang runs. It never gives up: the other pods may be gone already.
func (l Limits) committed(r Record, seen Seen, now time.Time) Record {
	switch {
	case r.Ended && (seen.Old == nil || seen.Permission == Withdrawn && l.remains(r, seen, now)):
		return r.enter(Aborted, now)
	case r.Ended:
	case seen.Old != nil && seen.Old.Ended && !seen.Old.Failed:
		r.Ended, r.Why = true, "the job ended after it had saved"
	case seen.Old == nil && !seen.OthersRun:
		r.Gone = true
		return r.enter(Evicted, now)
	}
	return r
}

// WithOthers adds to what was observed of each pod of a move what that says about the others.
func WithOthers(seen []Seen) []Seen {
	runs := func(s Seen) bool { return s.Old != nil && !s.Old.Ended }
	all := slices.Clone(seen)
	for i := range all {
		all[i].OthersRun = slices.ContainsFunc(slices.Concat(seen[:i], seen[i+1:]), runs)
	}
	return all
}
