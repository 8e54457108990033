package bus

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/halt"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/save"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// Move is the move of a job to another node. Its key names the pod that moves.
type Move struct {
	Header
	Pod  growth.PodRef `json:"pod"`
	Move move.Record   `json:"move"`
	// Sample is the last Sample of the pod that moves, from the state Saved until the record of its successor's origin is written.
	// That of the bus is deleted with the pod.
	Sample json.RawMessage `json:"sample,omitempty"`
}

// MovedJob is the past moves of a job. Its key names the job: see move.Identity.Job.
type MovedJob struct {
	Header
	// Pod is the job's pod when the record was written, and Written is when.
	Pod     growth.PodRef `json:"pod"`
	Written time.Time     `json:"written"`
	// Kind identifies jobs of one program, whose moves take about as long; empty if it is unknown.
	Kind interference.Kind `json:"kind,omitempty"`
	// Owner is the controller of the job's pods, as KIND/NAME; empty for a pod without one.
	Owner string `json:"owner,omitempty"`
	// Names are those of the last pods that moved, or that continued the job, the newest last.
	Names []string `json:"names,omitempty"`
	move.History
}

// maxNames bounds the names of a MovedJob.
const maxNames = 8

// Seen notes a pod of the job. A later one is the job's pod.
func (j *MovedJob) Seen(pod growth.PodRef) {
	j.Pod = pod
	if n := len(j.Names); n > 0 && j.Names[n-1] == pod.Name {
		return // a controller has given its name again
	}
	j.Names = append(slices.Clone(j.Names), pod.Name)
	j.Names = j.Names[max(0, len(j.Names)-maxNames):]
}

// GangRanks is what a node says about its ranks of a job on several nodes, while the job is to stop or to save. The node with
// the lowest name among those with ranks leads the job: all others follow its order.
type GangRanks struct {
	Header
	Ranks []halt.Rank `json:"ranks"`
	// Pause is set while the user has paused one of the node's pods, Save is the open request of one of them; empty if none is.
	Pause bool   `json:"pause,omitempty"`
	Save  string `json:"save,omitempty"`
	// Order is the last order to the processes of the node.
	Order wire.Stop `json:"order"`
	// Part is what the node's ranks have saved for the last request; nil while answers are missing.
	Part *save.Part `json:"part,omitempty"`
}

// WidthChange is the last change of a job's number of workers. Owner names the object that has the number.
type WidthChange struct {
	Header
	Owner  string         `json:"owner"`
	Change elastic.Change `json:"change"`
}
