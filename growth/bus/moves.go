package bus

import (
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
}

// MovedJob is the past moves of a job. Its key names the job: see move.Identity.Job.
type MovedJob struct {
	Header
	// Pod is the job's pod when the record was written, and Written is when.
	Pod     growth.PodRef `json:"pod"`
	Written time.Time     `json:"written"`
	// Kind identifies jobs of one program, whose moves take about as long; empty if it is unknown.
	Kind interference.Kind `json:"kind,omitempty"`
	move.History
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
