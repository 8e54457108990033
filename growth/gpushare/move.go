package gpushare

const (
	// MoveAnywhere is the value of MoveAnnotation that names no node.
	MoveAnywhere = "any"
	// MoveGate is the scheduling gate of the copy of a bare pod that moves.
	MoveGate = "gpushare/move"
)
