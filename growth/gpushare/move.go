package gpushare

// Annotations of a move to another node.
const (
	// MoveAnnotation on a running pod asks to move its job: the name of a node, or "any" for any other one. It is removed once
	// the move has ended.
	MoveAnnotation = "gpushare/move"
	// MovingAnnotation is set by Trellis on a pod that is being moved: the ID of the move, and whether the pod may be evicted.
	MovingAnnotation = "gpushare/moving"
)

// MoveAnywhere is the value of MoveAnnotation that names no node.
const MoveAnywhere = "any"

// MoveGate is the scheduling gate of the copy of a bare pod that moves.
const MoveGate = "gpushare/move"
