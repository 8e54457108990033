package node

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/corun"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// prospect predicts what a pair does at the same time.
type prospect struct {
	shares    [2]float64
	slowdowns [2]interference.Prediction
	source    interference.Source // of the first slowdown
}

// MeasuredHere is the source of a speed that this node has measured.
const MeasuredHere interference.Source = "measured on this node"

func (e InterferenceLearned) apply(n *Node) { n.model = e.Model }

// prospect predicts two jobs next to each other.
func (n *Node) prospect(a, b gpuJob) prospect {
	p := prospect{shares: [2]float64{float64(a.gpu.share), float64(b.gpu.share)}}
	p.slowdowns[0], p.source = n.slowdown(a, b)
	p.slowdowns[1], _ = n.slowdown(b, a)
	return p
}

// slowdown returns the slowdown of a job next to another: as this node has measured it, or as the model of the cluster
// predicts it.
func (n *Node) slowdown(j, other gpuJob) (interference.Prediction, interference.Source) {
	if s, measured := n.speeds.Predict(j.interferes(), []corun.Kind{other.interferes()}); measured {
		return interference.PredictionOf(s.Mean, s.Deviation), MeasuredHere
	}
	own, others := j.member(), []interference.Member{other.member()}
	return n.model.Predict(own, others), n.model.Source(own, others)
}

// member returns what the model needs to know of a job.
func (j *job) member() interference.Member {
	return interference.Member{Kind: j.leader().published(), Activity: j.activity()}
}

// mayPay reports whether it is not certain that the pair does no more together than in turns. A pair that was not measured
// anywhere is uncertain enough for that.
func (p prospect) mayPay() bool {
	return 1/float64(p.slowdowns[0].Low)+1/float64(p.slowdowns[1].Low) >= 1+corun.Margin
}

// saved returns the part of the GPU's time that the pair needs less together than in turns, by a cautious prediction. It is
// negative if the pair needs more.
func (p prospect) saved() float64 {
	need := max(p.shares[0]*float64(p.slowdowns[0].Cautious()), p.shares[1]*float64(p.slowdowns[1].Cautious()))
	return p.shares[0] + p.shares[1] - need
}

// NextTo is the speed of a job while another computes too, relative to computing alone.
type NextTo struct {
	Pod    growth.PodRef       `json:"pod"`
	Speed  corun.Speed         `json:"speed"`
	Source interference.Source `json:"source"`
}

// nextTo returns the speed of a job next to each other job that a set may have: as this node has measured it, or as the model
// predicts.
func (n *Node) nextTo(g gpuGroup, j gpuJob) (all []NextTo) {
	for _, other := range g.jobs {
		if other.job == j.job || !slices.Equal(other.gpus, j.gpus) {
			continue
		}
		p, source := n.slowdown(j, other)
		speed := corun.Speed{Mean: 1 / float64(p.Mean), Deviation: float64(p.Deviation / (p.Mean * p.Mean))}
		all = append(all, NextTo{Pod: other.pod.Ref, Speed: speed, Source: source})
	}
	return all
}
