package node

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// gpuNotePeriod is the minimum time between two writes of gpushare.GPUShareAnnotation. Between them, or while the share
// changes by less than noticeableTime, the annotation has the earlier value.
const gpuNotePeriod = time.Minute

// gpuNote is the last written annotation.
type gpuNote struct {
	share growth.Share
	at    time.Time // zero if unknown
}

// annotateGPUShares writes which part of the time of their GPUs the jobs have, for people and for kubectl.
func (n *Node) annotateGPUShares() {
	if !n.dividesGPUs() {
		return
	}
	for _, j := range n.sorted() {
		if j.leavesGPU() && !j.pod.Ended() { // it is in no group
			n.annotateGPUShare(j, 0)
		}
	}
	for _, g := range n.groups {
		for _, j := range g.jobs {
			for _, pod := range j.pods {
				if n.jobs[pod.pod.Ref.UID] == pod && !pod.pod.Ended() {
					n.annotateGPUShare(pod, j.gpu.part)
				}
			}
		}
	}
}

func (n *Node) annotateGPUShare(j *job, share growth.Share) {
	note := &j.gpu.note
	if note.at.IsZero() { // an earlier coordinator may have written it
		written, ok := parsePercentage(j.pod.Annotations[gpushare.GPUShareAnnotation])
		if ok {
			*note = gpuNote{share: written, at: n.now.Add(-gpuNotePeriod)}
		}
	}
	unchanged := math.Abs(float64(share-note.share)) < float64(noticeableTime)
	if !note.at.IsZero() && (unchanged || n.now.Sub(note.at) < gpuNotePeriod) {
		return
	}
	*note = gpuNote{share: share, at: n.now}
	n.annotate(j.pod.Ref, gpushare.GPUShareAnnotation, share.String())
}

// parsePercentage parses a share as Share.String formats it.
func parsePercentage(text string) (growth.Share, bool) {
	digits, ok := strings.CutSuffix(text, "%")
	percent, err := strconv.ParseUint(digits, 10, 8)
	return growth.Share(percent) / 100, ok && err == nil && percent <= 100
}
