package cache

import (
	"math"
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
	// Misfit is what stands against it, nil where the pod fits. It must not be changed.
	Misfit *placement.Status
	// Score is that of the best place, nothing where there is none.
	Score placement.Score
}

// Verdicts remember what was found out, by question and place. A picture never changes and the verdict on it neither, and
// between two pods one node of thousands gets another picture: the others are not judged anew. The zero value is empty.
type Verdicts struct {
	sheets atomic.Pointer[[]*Sheet]
}

// Sheet is the verdicts on one question, by place. What a concurrent reader overwrites is reached again.
type Sheet struct {
	question Question
	fits     []fit
	misfits  []atomic.Pointer[misfit]
}

// fit is the score of a picture on which there is room: two words, so that thousands of places lie side by side. Most nodes
// fit most of the time, and after each pod other programs have had the processor's caches.
type fit struct {
	picture atomic.Uint64 // 0 for none, inWriting while score is not that of any
	score   atomic.Uint64
}

// inWriting is the number of no picture.
const inWriting = math.MaxUint64

type misfit struct {
	picture uint64
	placement.Status
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
		case len(sheet.fits) >= places:
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
	next := &Sheet{question: s.question, fits: make([]fit, places), misfits: make([]atomic.Pointer[misfit], places)}
	for i := range s.fits {
		if picture := s.fits[i].picture.Load(); picture != 0 {
			if score, known := s.fits[i].of(picture); known {
				next.fits[i].write(picture, score)
			}
		}
		next.misfits[i].Store(s.misfits[i].Load())
	}
	return next
}

// Recall returns the verdict on a seat's picture, false if there is none.
func (s *Sheet) Recall(seat Seat) (Verdict, bool) {
	if score, known := s.fits[seat.Place].of(seat.picture); known {
		return Verdict{Score: score}, true
	}
	if known := s.misfits[seat.Place].Load(); known != nil && known.picture == seat.picture {
		return Verdict{Misfit: &known.Status}, true
	}
	return Verdict{}, false
}

// Remember keeps the verdict on a seat's picture.
func (s *Sheet) Remember(seat Seat, v Verdict) {
	if v.Misfit != nil {
		s.misfits[seat.Place].Store(&misfit{seat.picture, *v.Misfit})
		return
	}
	s.fits[seat.Place].write(seat.picture, v.Score)
}

func (f *fit) of(picture uint64) (placement.Score, bool) {
	if picture == inWriting || f.picture.Load() != picture {
		return 0, false
	}
	score := f.score.Load()
	return placement.Score(math.Float64frombits(score)), f.picture.Load() == picture // nobody wrote in between
}

// write gives way to whoever writes at the same time: then nothing is remembered, or that.
func (f *fit) write(picture uint64, score placement.Score) {
	if before := f.picture.Load(); before != inWriting && f.picture.CompareAndSwap(before, inWriting) {
		f.score.Store(math.Float64bits(float64(score)))
		f.picture.Store(picture)
	}
}
