package node

import (
	"fmt"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/policy"
)

const (
	// coveredPart is the part of a job's lifetime that its account must cover for a comparison with fair sharing.
	coveredPart = 0.8
	// stalePart bounds the age of the last reading of the CPU counter: one of stalePart parts of the job's lifetime.
	stalePart = 10
	// sameWork is a difference of work that is attributed to the time since the last decision.
	sameWork = 0.02
)

// observeEnd notes how the job of a pod that does not run any more has ended. A job that is deleted has not ended by itself, though it may
// exit without an error when it is asked to.
func (j *job) observeEnd(pod Pod) {
	j.failed = pod.Trainer().Failed
	j.cutShort = j.cutShort || j.failed != "" || !pod.Deadline.IsZero() && !pod.Ended()
}

// announceEnd summarises a job that has ended.
func (n *Node) announceEnd(j *job) {
	n.close(j)
	n.endDeadline(j)
	l := j.lifetime
	ran := j.ran()
	ended := "ended"
	if j.failed != "" {
		ended = fmt.Sprintf("failed (%s)", j.failed)
	}
	parts := []string{fmt.Sprintf("The job %s after %s%s", ended, ran.Round(time.Second), j.resultText())}
	if j.usage.CPUKnown && j.lifetime.ended.Sub(j.usedAt) <= ran/stalePart {
		parts = append(parts, fmt.Sprintf("It used %.0f core-seconds of CPU", float64(j.usage.CPU)))
	}
	if g := j.identity().lifetime; g.GPUHeld > 0 {
		parts = append(parts, fmt.Sprintf("It computed on its GPU for %.0f s and waited %.0f s for its turn", float64(g.GPUHeld), float64(g.GPUWaited)))
	}
	if l.Shared > 0 && j.tunable() && !n.dividesGPUs() {
		held := fmt.Sprintf("It held %s of the node's pool on average", growth.Share(l.Held/l.Shared))
		if l.Resizes > 0 {
			held += fmt.Sprintf("; its CPU request changed %s", times(l.Resizes))
		}
		parts = append(parts, held)
	}
	if l.fair != "" {
		parts = append(parts, l.fair)
	}
	n.event(j, oncePerJob, false, "JobEnded", strings.Join(parts, ". "))
}

// ran returns how long a job's processes have run.
func (j *job) ran() time.Duration {
	began := j.pod.Started
	if began.IsZero() {
		began = j.lifetime.began
	}
	return max(j.lifetime.ended.Sub(began), 0)
}

// resultText names the job's last step and value.
func (j *job) resultText() string {
	if j.latest.Step == 0 && !j.reported {
		return " without a report"
	}
	text := " at " + j.stepText()
	if !j.reported && !j.tracker.NotFinite().Lasting {
		return text + ", without a value of " + j.spec.Metric
	}
	text += ", " + j.valueText()
	if lost := j.tracker.NotFinite(); lost.Lasting {
		text += fmt.Sprintf(" since step %d", lost.Since)
	}
	if first := j.lifetime.First; first != nil {
		text += fmt.Sprintf(" (first %.4g)", *first)
	}
	return text
}

// fairText compares an ended job with fair sharing. It is empty if the account does not cover the job's lifetime, or if
// there is no difference.
func (n *Node) fairText(j *job) string {
	accounts, divided := n.fair.Accounts, j.tunable()
	if n.dividesGPUs() {
		accounts, divided = n.gpuFair.Accounts, j.gpu.paused
	}
	a, ok := accounts[j.pod.Ref.UID]
	covered := float64(a.Age) >= coveredPart*j.ran().Seconds()
	if n.config.Policy != policy.Harmless || !ok || !covered || a.Ended || a.RealWork <= 0 || !divided {
		return ""
	}
	done := growth.Share(a.FairWork / a.RealWork)
	switch {
	case done <= 1-sameWork:
		return fmt.Sprintf("Fair sharing would have done %s of its work by now", done)
	case done >= 1+sameWork:
		return "Fair sharing would have done more of its work by now"
	}
	return ""
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
