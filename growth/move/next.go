package move

import (
	"fmt"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Permission is the annotation of a move on the old pod.
type Permission string

// All values. Withdrawn is final.
const (
	None      Permission = ""
	Granted   Permission = "granted"
	Withdrawn Permission = "withdrawn"
)

// Pod is a pod as it was last observed.
type Pod struct {
	UID  growth.PodUID
	Node growth.NodeName
	// Ended is set if its containers have ended by themselves, and not because the pod is being deleted. Failed is set if they have
	// failed then: its owner replaces it.
	Ended, Failed bool
}

// Seen is what was observed of a move. It may be old, but not older than the record.
type Seen struct {
	// Old is nil once the old pod is gone.
	Old        *Pod
	Permission Permission
	// Attached is set while the old pod belongs to its owner.
	Attached bool
	// Checkpoint is the answer to the request to save for this move; SaveFailed is its reason if the job could not.
	Checkpoint *Checkpoint
	SaveFailed string
	// CheckpointUnavailable is why the successor cannot read what the job has saved. It counts for all pods of a gang together.
	CheckpointUnavailable string
	// Refused is why the old pod is not evicted, such as a disruption budget. It counts for all pods of a gang together.
	Refused string
	// New is the successor; nil if there is none. Step is what it has reported since it started; 0 if nothing.
	New  *Pod
	Step int64
	// Started is set once all its containers have started. NoImage is set while its node does not have all their images.
	Started, NoImage bool
	// Trouble is why its containers do not run. Fails is set if that will not pass by itself.
	Trouble string
	Fails   bool
	// TargetLost says why the target cannot take the job any more.
	TargetLost string
	// Reserved is set if memory is reserved on the target. OthersRun is set while the old pod of another pod of the gang may run.
	Reserved, OthersRun bool
}

// Next returns the record that follows, and whether it differs.
func (l Limits) Next(r Record, seen Seen, now time.Time) (Record, bool) {
	before := r
	switch r.State {
	case Proposed:
		r = l.proposed(r, seen, now)
	case Saving:
		r = l.saving(r, seen, now)
	case Saved:
		r = l.saved(r, seen, now)
	case Evicted:
		r = l.evicted(r, seen, now)
	case Placed:
		r = l.placed(r, seen, now)
	case Restored:
		r = r.enter(Done, now)
	}
	return r, r != before
}

func (r Record) enter(s State, now time.Time) Record {
	r.State, r.Since = s, now
	r.Times.note(s, now)
	return r
}

func (r Record) abort(why string, now time.Time) Record {
	r.Why = why
	return r.enter(Aborted, now)
}

func (l Limits) proposed(r Record, seen Seen, now time.Time) Record {
	switch {
	case seen.Old == nil || seen.Old.Ended:
		return r.abort("the job ended", now)
	case seen.TargetLost != "":
		return r.abort(seen.TargetLost, now)
	}
	return r.enter(Saving, now)
}

func (l Limits) saving(r Record, seen Seen, now time.Time) Record {
	switch {
	case seen.Old == nil || seen.Old.Ended:
		return r.abort("the job ended while it saved", now)
	case seen.SaveFailed != "":
		return r.abort("the job did not save: "+seen.SaveFailed, now)
	case seen.TargetLost != "":
		return r.abort(seen.TargetLost, now)
	case seen.CheckpointUnavailable != "":
		return r.abort(seen.CheckpointUnavailable, now)
	case seen.Checkpoint != nil:
		r.Checkpoint = seen.Checkpoint
		return r.enter(Saved, now)
	case now.Sub(r.Since) > l.Save:
		return r.abort(fmt.Sprintf("the job did not save within %s", l.Save), now)
	}
	return r
}

// saved waits until the old pod is gone. It gives up by withdrawing the permission first.
func (l Limits) saved(r Record, seen Seen, now time.Time) Record {
	switch {
	case r.Gang != nil:
		return l.committed(r, seen, now)
	case seen.Old == nil && r.Ended:
		return r.enter(Aborted, now)
	case seen.Old == nil:
		r.Gone, r.Why = true, ""
		return r.enter(Evicted, now)
	case r.Why != "" && seen.Permission == Withdrawn && l.remains(r, seen, now):
		return r.enter(Aborted, now)
	case seen.Old.Ended:
		r.Ended, r.Why = true, "the job ended after it had saved"
	case r.Why != "":
	case seen.TargetLost != "":
		r.Why = seen.TargetLost
	case now.Sub(r.Since) > l.Evict && seen.Refused != "":
		r.Why = "the pod was not evicted: " + seen.Refused
	case now.Sub(r.Since) > l.Evict:
		r.Why = fmt.Sprintf("the pod did not end within %s", l.Evict)
	}
	return r
}

// remains reports whether the old pod is the only one of its job again. A successor that its owner has created goes once the old
// pod belongs to the owner. It does not return to an owner that was deleted.
func (l Limits) remains(r Record, seen Seen, now time.Time) bool {
	if !r.Detach {
		return true
	}
	deleted := now.Sub(r.Since) > 2*l.Evict
	return seen.Attached && (seen.New == nil || seen.Old.Failed) || deleted && seen.New == nil
}

func (l Limits) evicted(r Record, seen Seen, now time.Time) Record {
	switch {
	case seen.New != nil && seen.New.Node != "":
		r.New, r.On, r.NoImage = seen.New.UID, seen.New.Node, seen.NoImage
		return r.enter(Placed, now)
	case seen.TargetLost != "":
		return r.abort(seen.TargetLost+"; the new pod may run on any node", now)
	case now.Sub(r.Since) > l.Place:
		return r.abort(fmt.Sprintf("the new pod was not placed within %s and may run on any node", l.Place), now)
	}
	return r
}

// observed adds to the record of a placed pod what its successor has shown so far: that its containers run, and the step with which it
// has begun if that is before the saved one.
func (r Record) observed(seen Seen, now time.Time) Record {
	if seen.New == nil || seen.New.UID != r.New {
		return r
	}
	if r.Behind == 0 && seen.Step < r.Checkpoint.Step {
		r.Behind = seen.Step
	}
	if r.Times.Started.IsZero() && seen.Started {
		r.Times.Started = now
	}
	return r
}

func (l Limits) placed(r Record, seen Seen, now time.Time) Record {
	r = r.observed(seen, now)
	switch {
	case seen.New == nil || seen.New.UID != r.New:
		return r.abort("the new pod was deleted", now)
	case seen.Step >= r.Checkpoint.Step && seen.Step > 0:
		return r.enter(Restored, now)
	case seen.New.Ended:
		return r.abort(strings.TrimSuffix("the new pod ended without a report: "+seen.Trouble, ": "), now)
	case seen.Fails && now.Sub(r.Since) > l.Fail:
		return r.abort("the new pod does not run: "+seen.Trouble, now)
	case now.Sub(r.Since) > l.Restore && seen.Trouble != "":
		return r.abort(fmt.Sprintf("the new pod did not run within %s: %s", l.Restore, seen.Trouble), now)
	case now.Sub(r.Since) > l.Restore:
		return r.abort(fmt.Sprintf("the new pod reported no step from %d on within %s", r.Checkpoint.Step, l.Restore), now)
	}
	return r
}
