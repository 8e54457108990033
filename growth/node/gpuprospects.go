package node

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/corun"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// prospect predicts what a pair does at the same time that was not measured on this node.
type prospect struct {
	shares    [2]float64
	slowdowns [2]interference.Prediction
	source    interference.Source // of the first slowdown
}

func (e InterferenceLearned) apply(n *Node) { n.model = e.Model }

// prospect predicts two jobs next to each other by the model of the cluster.
func (n *Node) prospect(a, b gpuJob) prospect {
	own, other := a.member(), b.member()
	return prospect{
		shares: [2]float64{float64(a.gpu.share), float64(b.gpu.share)},
		slowdowns: [2]interference.Prediction{
			n.model.Predict(own, []interference.Member{other}),
			n.model.Predict(other, []interference.Member{own}),
		},
		source: n.model.Source(own, []interference.Member{other}),
	}
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

// MeasuredHere is the source of a speed that this node has measured.
const MeasuredHere interference.Source = "measured on this node"

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
		next := NextTo{Pod: other.pod.Ref, Source: MeasuredHere}
		measured := false
		if next.Speed, measured = n.speeds.Predict(j.interferes(), []corun.Kind{other.interferes()}); !measured {
			p := n.prospect(j, other)
			mean := float64(p.slowdowns[0].Mean)
			next.Speed = corun.Speed{Mean: 1 / mean, Deviation: float64(p.slowdowns[0].Deviation) / (mean * mean)}
			next.Source = p.source
		}
		all = append(all, next)
	}
	return all
}
