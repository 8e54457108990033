package node

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func (e ProgressUnreadable) apply(n *Node) {
	if j := n.jobs[e.Pod]; j != nil {
		n.event(j, time.Minute, true, "ProgressUnreadable",
			fmt.Sprintf("Progress cannot be read from %s: %s. Until it can be read, the job gets its fair share", j.progressText(), e.Err))
	}
}

func (e LogUnmatched) apply(n *Node) {
	j := n.jobs[e.Pod]
	if j == nil || j.reported || j.follows() && j.leader().reported {
		return
	}
	what := fmt.Sprintf("matches log:%s", j.spec.Progress.Pattern)
	if j.spec.Progress.Source == gpushare.FromFile {
		what = fmt.Sprintf("has a value of %q, as in %q", j.spec.Metric, j.spec.Metric+"=0.5")
	}
	n.event(j, oncePerJob, true, "LogUnmatched",
		fmt.Sprintf("%d lines of %s were read and none %s. One of them is %q. "+
			"Correct %s: until a line has a value, the job's growth is unknown and it gets its fair share",
			e.Lines, j.progressText(), what, e.Example, gpushare.ProgressAnnotation))
}

func (e LogFormatUnknown) apply(n *Node) {
	if j := n.jobs[e.Pod]; j != nil {
		n.event(j, oncePerJob, true, "LogFormatUnknown",
			fmt.Sprintf("Progress cannot be read from %s: %s. Trellis reads the formats of containerd and CRI-O, and Docker's json-file. "+
				"Report through the shim or through a file instead; until then the job gets its fair share", j.progressText(), e.Err))
	}
}

// progressText names the text from which a job's progress is read.
func (j *job) progressText() string {
	if j.spec.Progress.Source == gpushare.FromFile {
		return j.spec.Progress.Path
	}
	return "the container's log"
}
