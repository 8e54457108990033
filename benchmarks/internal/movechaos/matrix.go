package movechaos

import "github.com/trellis-gpu/trellis/growth/move"

// Row is one kill.
type Row struct {
	// Victim is a program, and the end of the move that it serves if each node has one.
	Victim string
	State  move.State
}

// String is the name of the row: "bus/Saved".
func (r Row) String() string { return r.Victim + "/" + string(r.State) }

// Unsaved reports whether the jobs of the row cannot save, so that their moves are aborted.
func (r Row) Unsaved() bool { return r.State == move.Aborted }

// Victims returns the programs that are killed.
func Victims() []string {
	return []string{
		"extender", "old coordinator", "new coordinator", "old deviceplugin", "new deviceplugin", "bus", "old kubelet", "new kubelet", "job",
	}
}

// States returns the states in which each of them is killed.
func States() []move.State {
	return []move.State{move.Proposed, move.Saving, move.Saved, move.Evicted, move.Placed, move.Done, move.Aborted}
}

// LeftOut returns the other states, and why each has no row.
func LeftOut() map[move.State]string {
	return map[move.State]string{
		move.Restored: "the mover leaves it in the same pass, after one transaction: a kill upon its line in the log comes in state Done. " +
			"TestExtender_MovesSurviveCrashes stops the programs in between.",
	}
}

// Rows returns the matrix.
func Rows() []Row {
	var rows []Row
	for _, victim := range Victims() {
		for _, state := range States() {
			rows = append(rows, Row{victim, state})
		}
	}
	return rows
}

// RankRows returns the kills during moves of a job of two pods. Tests on a stock API server have all states for such jobs.
func RankRows() []Row {
	return []Row{{"old coordinator", move.Saving}, {"extender", move.Saved}, {"bus", move.Evicted}}
}
