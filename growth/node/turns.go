package node

import "github.com/trellis-gpu/trellis/growth"

// TurnPlan divides the time of the node's GPUs among the jobs on them.
//
// A job computes while it has the turn of its GPUs, and waits between two steps otherwise. A job that is in no group is
// not paused.
type TurnPlan struct {
	// Groups are ordered by their first GPU.
	Groups []TurnGroup
}

// TurnGroup is a set of GPUs that jobs on several GPUs connect, and all jobs on these GPUs.
type TurnGroup struct {
	GPUs []growth.GPU
	// Jobs are ordered by Pod. A single job is not paused.
	Jobs []TurnJob
	// Open is set if no job of the group is paused, because turns have no advantage over plain sharing, or because a job
	// of the group cannot be paused. Use is measured as in any other group.
	Open bool
}

// TurnJob is one job of a TurnGroup. The pods of a gang are one job.
type TurnJob struct {
	// Pod identifies the job. For a gang it is the lowest UID.
	Pod growth.PodUID
	// GPUs are the GPUs of the job, which it uses at the same time. Jobs without a common GPU may have turns at the same
	// time.
	GPUs []growth.GPU
	// Slots are the open slots of all processes of the job on this node.
	Slots []string
	// Share is the fraction of time in which the job should have the turn of all of its GPUs. On each GPU the shares add up
	// to at most 1. What a job does not use goes to the others.
	Share growth.Share
	// Always is set for a job that is never paused, such as one with processes on other nodes. Others compute next to it.
	Always bool
	// Freeze is the ID of the container whose processes are frozen between the turns of the job. It is empty for a job that
	// pauses itself.
	Freeze string
	// Set is the number of the job's set within the group; 0 for a job that holds the turn alone. The jobs of a set have the
	// same GPUs, and hold the turn of these together.
	Set int
	// Speed is the speed of the job while its whole set computes, relative to computing alone. It is charged by that.
	Speed float64
}

// GPUUse is a reading of a job's use of its GPUs. Times are in seconds since the coordinator started. They are not
// multiplied by the number of GPUs. The processes of a job use the GPUs as one.
type GPUUse struct {
	// Held is the time in which the job had the turn and was not idle. In a group that is Open, or with one job, it is the
	// time in which the job was not idle.
	Held growth.Seconds
	// Waited is the time in which the job was ready to compute and waited for the turn.
	Waited growth.Seconds
	// Kept is the time in which the job was idle and its GPUs were kept for it. It counts in its share of the time, but is no work.
	Kept growth.Seconds
	// Steps is the number of steps that the job made while it held.
	Steps int64
	// AloneSteps are those of turns that have ended in which no other job of the job's GPUs computed, AloneIn is the part of Held that these
	// turns took.
	AloneSteps int64
	AloneIn    growth.Seconds
	// Alone is the part of Held in which no other job held any of the job's GPUs.
	Alone growth.Seconds
	// Together has the rest of Held by the jobs that computed at the same time, as far as it was measured.
	Together []Together
	// Overdue counts how often the job did not stop in time after its turn, so that the others no longer waited for it.
	Overdue int64
	// Gated is set if the job is connected and answers, so that it can be paused. It is not set for a job that is frozen.
	Gated bool
	// Frozen is set once the job was frozen between two turns.
	Frozen bool
	// Unfreezable is set if freezing the job has failed.
	Unfreezable bool
}

// Together is a part of the time in which a job held its GPUs.
type Together struct {
	// Others are the jobs that computed on GPUs of the job all this time, in the order of their UIDs.
	Others []growth.PodUID
	Held   growth.Seconds
}
