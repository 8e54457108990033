package view

import (
	"sync/atomic"

	"github.com/trellis-gpu/trellis/growth/placement"
)

// remembered is how many questions the verdicts are remembered on. Clusters ask for a handful of sizes.
const remembered = 16

// Question is all that a verdict on one picture of a node depends on. Policies are comparable values.
type Question struct {
	Policy placement.Policy
	Shape  placement.Shape
}

// Verdict is what a node is to pods that hold nothing on it.
type Verdict struct {
	placement.Misfit
	// Score is that of the best place, nothing where there is none.
	Score placement.Score
}

// Verdicts remember what was found out, by question and place. A picture never changes and the verdict on it neither, and
// between two pods one node of thousands gets another picture: the others are not judged anew. The zero value is empty.
type Verdicts struct {
	sheets atomic.Pointer[[]*Sheet]
}

// Sheet is the verdicts on one question. What a concurrent reader overwrites is reached again.
type Sheet struct {
	question Question
	cells    []atomic.Pointer[cell] // by place
}

type cell struct {
	picture uint64
	verdict Verdict
}

// On returns the sheet of a question, with room for so many places.
func (v *Verdicts) On(q Question, places int) *Sheet {
	var sheets []*Sheet
	if known := v.sheets.Load(); known != nil {
		sheets = *known
	}
	next := &Sheet{question: q}
	kept := make([]*Sheet, 0, remembered)
	for _, sheet := range sheets {
		switch {
		case sheet.question != q:
			kept = append(kept, sheet)
		case len(sheet.cells) >= places:
			return sheet
		default:
			next = sheet
		}
	}
	next = next.grown(places + places/4)
	v.sheets.Store(new(append(kept[max(0, len(kept)-remembered+1):], next)))
	return next
}

func (s *Sheet) grown(places int) *Sheet {
	next := &Sheet{question: s.question, cells: make([]atomic.Pointer[cell], places)}
	for i := range s.cells {
		next.cells[i].Store(s.cells[i].Load())
	}
	return next
}

// Recall returns the verdict on a seat's picture, nil if there is none. It must not be changed.
func (s *Sheet) Recall(seat Seat) *Verdict {
	if known := s.cells[seat.Place].Load(); known != nil && known.picture == seat.picture {
		return &known.verdict
	}
	return nil
}

// Remember keeps the verdict on a seat's picture.
func (s *Sheet) Remember(seat Seat, v Verdict) *Verdict {
	known := &cell{seat.picture, v}
	s.cells[seat.Place].Store(known)
	return &known.verdict
}
