package growth

// Category is the stage of a job's training, the one classification that shares and moves are decided by. FlowCon
// calls the stages NL, WL and CL, SpeCon PC, WC and CC.
type Category string

const (
	// Progressing jobs still turn resources into learning; every job starts here.
	Progressing Category = "Progressing"
	// Watching jobs have grown slowly for a while and may be about to converge.
	Watching Category = "Watching"
	// Converged jobs have grown slowly for longer. They go on, with less.
	Converged Category = "Converged"
)

// Valid tells whether c is one of the three.
func (c Category) Valid() bool { return c == Progressing || c == Watching || c == Converged }

// Direction says which way a metric improves.
type Direction int

const (
	// Minimize is for losses.
	Minimize Direction = +1
	// Maximize is for accuracies and scores.
	Maximize Direction = -1
)

// String prints the word that the metric annotation uses.
func (d Direction) String() string {
	if d == Maximize {
		return "max"
	}
	return "min"
}
