package node

import (
	"fmt"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// maxNamed bounds the GPUs that an event names, maxQuoted the bytes that it quotes of a pattern or a path.
const maxNamed, maxQuoted = 4, 120

// announceArrival records which GPU a job has and what is observed. It waits until kubelet's allocation is known; from
// the first round on, the annotation has to do.
func (n *Node) announceArrival(j *job, wait bool) {
	uid := j.pod.Ref.UID
	gpus := n.gpus(uid)
	if !j.lifetime.arrivalDue || (wait && len(gpus) == 0) {
		return
	}
	if len(gpus) == 0 {
		gpus = gpushare.ParseGPUs(j.pod.Annotations[gpushare.GPUAnnotation])
	}
	j.lifetime.arrivalDue = false
	n.event(j, oncePerJob, false, "JobArrived",
		fmt.Sprintf("The job runs with %s. Trellis reads its metric %s (%s is better) from %s. %s%s",
			j.memoryText(gpus), j.spec.Metric, better(j.spec.Direction), j.sourceText(), n.tuningText(j), n.priorityText(j)+n.deadlineText(j)))
}

// memoryText names the job's GPU memory.
func (j *job) memoryText(gpus []growth.GPU) string {
	switch {
	case len(gpus) == 0 && j.spec.Memory == 0:
		return "GPU memory by its limits"
	case len(gpus) == 0:
		return fmt.Sprintf("%s of GPU memory", j.spec.Memory)
	}
	if j.spec.Memory == 0 {
		return "GPU memory of " + strings.ReplaceAll(gpushare.FormatGPUs(gpus[:min(len(gpus), maxNamed)]), ",", ", ")
	}
	if len(gpus) > 1 {
		return fmt.Sprintf("%s on each of %s", j.spec.Memory, gpuNames(gpus))
	}
	return fmt.Sprintf("%s of %s", j.spec.Memory, gpuNames(gpus))
}

// gpuNames names the first of some GPUs.
func gpuNames(gpus []growth.GPU) string {
	names := strings.ReplaceAll(gpushare.FormatGPUs(gpus[:min(len(gpus), maxNamed)]), ",", ", ")
	if more := len(gpus) - maxNamed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return names
}

// sourceText names the source of the job's progress reports.
func (j *job) sourceText() string {
	switch p := j.spec.Progress; p.Source {
	case gpushare.FromLog:
		return fmt.Sprintf("its log by the pattern %s", quoted(p.Pattern.String()))
	case gpushare.FromFile:
		return fmt.Sprintf("its file %s", quoted(p.Path))
	default:
		return "its socket (gpushare.step)"
	}
}

// tuningText says whether the job's GPU time or its CPU request changes. The reason in Pod.Fixed has an event of its own.
func (n *Node) tuningText(j *job) string {
	switch {
	case n.dividesGPUs() && j.spec.Allows(gpushare.TuneGPUTime):
		return "Its part of the time of its GPU follows its growth"
	case n.dividesGPUs():
		return "It computes whenever it can: its user does not list gpu-time in " + gpushare.TuneAnnotation
	case !j.spec.Allows(gpushare.TuneCPU):
		return "Its CPU request stays as it is: " + j.fixed()
	case !j.tunable():
		return "Its CPU request stays as it is"
	}
	return fmt.Sprintf("Its CPU request, %s, follows its share of the node's pool", j.pod.Total(j.pod.Requests()))
}

// quoted returns a text in quotation marks, cut to maxQuoted bytes.
func quoted(text string) string {
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "…"
	}
	return fmt.Sprintf("%q", text)
}

// better names the direction in which a metric improves.
func better(d growth.Direction) string {
	if d == growth.Maximize {
		return "higher"
	}
	return "lower"
}

// announceFirst records the first value of a job's metric.
func (n *Node) announceFirst(j *job) {
	first := j.value
	j.lifetime.First = &first
	n.event(j, oncePerJob, false, "FirstMetric",
		fmt.Sprintf("The first value of %s is %.4g, at %s; %s is better", j.spec.Metric, first, j.stepText(), better(j.spec.Direction)))
}

// stepText names the job's last step.
func (j *job) stepText() string {
	if j.lifetime.counted {
		return fmt.Sprintf("report %d", j.latest.Step)
	}
	if j.latest.TotalSteps > 0 {
		return fmt.Sprintf("step %d of %d", j.latest.Step, j.latest.TotalSteps)
	}
	return fmt.Sprintf("step %d", j.latest.Step)
}
