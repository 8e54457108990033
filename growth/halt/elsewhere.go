package halt

import (
	"cmp"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// farAnswerTime is answerTime for a job on several nodes: an order passes the bus, which is written once a second.
const farAnswerTime growth.Seconds = 6

// MaxRanks bounds the ranks that one node reports.
const MaxRanks = 64

// Rank is what a node reports about one of its processes.
type Rank struct {
	Rank      int   `json:"rank"`
	WorldSize int   `json:"worldSize"`
	Step      int64 `json:"step"`
	// Answer is the sequence of the newest order that the process has answered, Answered the step that it had reached then.
	Answer   int64 `json:"answer,omitempty"`
	Answered int64 `json:"answered,omitempty"`
	Stopped  bool  `json:"stopped,omitempty"`
}

// Local returns the ranks of this node.
func (j *Job) Local() []Rank {
	var ranks []Rank
	for p, m := range j.all {
		if p.Node == "" && m.rank >= 0 && !j.onlyAnswers(m) {
			ranks = append(ranks, Rank{
				Rank:      m.rank,
				WorldSize: m.worldSize,
				Step:      m.step,
				Answer:    m.answer,
				Answered:  m.answered,
				Stopped:   m.stopped,
			})
		}
	}
	slices.SortFunc(ranks, func(a, b Rank) int { return cmp.Compare(a.Rank, b.Rank) })
	return ranks
}

// Elsewhere replaces what is known of the ranks of another node. Without ranks the node is forgotten.
func (j *Job) Elsewhere(now time.Time, node growth.NodeName, ranks []Rank) {
	seen := map[Process]bool{}
	for _, r := range ranks[:min(len(ranks), MaxRanks)] {
		p := Process{Node: node, Connection: int64(r.Rank) + 1}
		seen[p] = true
		m := j.process(p)
		if m == nil {
			continue
		}
		if m.step != r.Step || m.answer != r.Answer {
			m.at = now
		}
		m.rank, m.worldSize, m.step, m.stopped = r.Rank, r.WorldSize, r.Step, r.Stopped
		m.answer, m.answered, m.trains = r.Answer, r.Answered, true
		j.answered = j.answered || r.Answer > 0 && r.Answer == j.order.Sequence
	}
	for p := range j.all {
		if p.Node == node && !seen[p] {
			j.Left(p)
		}
	}
}

// Follow takes over the order of the node that leads the job, and reports whether it is new.
func (j *Job) Follow(now time.Time, order wire.Stop) bool {
	if order.Sequence <= j.order.Sequence {
		return false
	}
	if order.Stop && !j.order.Stop {
		j.began = now
	}
	if !order.Stop {
		j.began = time.Time{}
	}
	j.order, j.gone = order, false
	return true
}

// Spans reports whether ranks of the job are on other nodes, as far as this one's processes say.
func (j *Job) Spans() bool {
	local := map[int]bool{}
	for p, m := range j.all {
		if p.Node == "" && m.rank >= 0 {
			local[m.rank] = true
		}
	}
	return len(local) > 0 && len(local) < j.WorldSize()
}

// far reports whether another node has reported ranks.
func (j *Job) far() bool {
	for p := range j.all {
		if p.Node != "" {
			return true
		}
	}
	return false
}

// next returns the sequence of a new order: above all that any process has answered.
func (j *Job) next() int64 {
	sequence := j.order.Sequence
	for _, m := range j.all {
		sequence = max(sequence, m.answer)
	}
	return sequence + 1
}
