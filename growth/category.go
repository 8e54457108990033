package growth

// Category is the stage of a job's training. FlowCon calls the three stages NL, WL and CL; SpeCon calls them PC, WC
// and CC.
type Category string

const (
	// Progressing jobs still turn resources into learning. Every job starts in this category.
	Progressing Category = "Progressing"
	// Watching jobs have grown slowly for a while and may be about to converge.
	Watching Category = "Watching"
	// Converged jobs have grown slowly for longer. They keep running, with fewer resources.
	Converged Category = "Converged"
)

// Valid reports whether c is one of the three categories.
func (c Category) Valid() bool { return c == Progressing || c == Watching || c == Converged }

// Direction is the direction in which a metric improves.
type Direction int

const (
	// Minimize is for losses.
	Minimize Direction = +1
	// Maximize is for accuracies and scores.
	Maximize Direction = -1
)

// String returns the word that the metric annotation uses: "min" or "max".
func (d Direction) String() string {
	if d == Maximize {
		return "max"
	}
	return "min"
}
