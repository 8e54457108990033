package bus

import (
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/loader"
	"github.com/trellis-gpu/trellis/growth/peaks"
	"github.com/trellis-gpu/trellis/growth/programs"
)

// InterferenceModel is the name of the model that Interference records.
const InterferenceModel = "interference"

// Interference is what the tuner has learned about jobs that share GPUs.
type Interference struct {
	Header
	Learned interference.State `json:"learned"`
	// Through is the revision up to which all Speeds are part of Learned.
	Through Revision `json:"through"`
}

// PeaksModel is the name of the model that Peaks records.
const PeaksModel = "peaks"

// Peaks are the jobs from which the tuner predicts what others use at most, the newest last.
type Peaks struct {
	Header
	Runs []peaks.Run `json:"runs"`
}

// LoadersModel is the name of the model that Loaders records.
const LoadersModel = "loaders"

// Loaders are the measurements of data loaders by which the tuner predicts jobs of the same programs, the latest program last.
type Loaders struct {
	Header
	Programs []ProgramLoaders `json:"programs"`
}

// ProgramLoaders are measurements of one program, the newest last.
type ProgramLoaders struct {
	Program      programs.ID          `json:"program"`
	Measurements []loader.Measurement `json:"measurements"`
}

// ProgramRuns are the last runs of a program on one node, published by its coordinator. Readers ignore runs that are not valid,
// and all after the first programs.MaxRunsPerNode.
type ProgramRuns struct {
	Header
	Runs []programs.Run `json:"runs"`
}

// ProgramModel is what the tuner has learned of a program from all nodes.
type ProgramModel struct {
	Header
	programs.Model
}
