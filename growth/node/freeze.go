package node

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// ContainerFreeze freezes or thaws a container. The caller executes those of one container in their order, and reports each with
// FreezeFinished.
type ContainerFreeze struct {
	Pod       growth.PodUID
	Container string // ID of the container
	Frozen    bool
}

// lacksShim reports whether the processes of a job that is to pause are not connected, and will not be soon.
func (n *Node) lacksShim(j *job) bool {
	soon := j.leader().spec.Progress.Source == gpushare.FromSocket && n.now.Sub(j.pause.asked) < obeyTime
	return !j.pause.halt.Connected() && !soon
}

// freezable returns the container that is frozen while a job without the shim is paused, or why it is not.
func (n *Node) freezable(j *job) (container, why string) {
	switch {
	case !n.config.Freeze:
		return "", "this node's coordinator runs without --freeze"
	case n.overlaps(n.gpus(j.pod.Ref.UID)):
		return "", "a frozen client of MPS may hold up the server of all"
	case len(n.podsOf(j)) > 1 || j.pod.Distributed || j.leader().settings.worldSize() > 1:
		return "", "it has several ranks, which wait for each other"
	case len(j.pod.Containers) != 1:
		return "", "its pod has several containers, which may wait for each other"
	case j.pod.Probed:
		return "", "it has a liveness probe, and kubelet would restart a container that does not answer"
	case !j.pod.Running || j.pod.Trainer().ID == "":
		return "", "its container does not run"
	}
	return j.pod.Trainer().ID, ""
}

// orderFreeze freezes the container of a job that is to pause and cannot wait between two steps, or thaws it.
func (n *Node) orderFreeze(j *job, pause bool) {
	container := ""
	if pause && n.lacksShim(j) {
		container, _ = n.freezable(j)
	}
	if id, freeze, due := j.pause.frozen.Next(container); due {
		n.out.Freezes = append(n.out.Freezes, ContainerFreeze{Pod: j.pod.Ref.UID, Container: id, Frozen: freeze})
	}
}

// levelWithoutShim is pauseLevel for a job whose processes are not connected.
func (n *Node) levelWithoutShim(j *job) (level pauseLevel, why string) {
	p := &j.pause
	container, why := n.freezable(j)
	switch {
	case container != "" && p.frozen.Is(container):
		return stopped, ""
	case container != "" && p.frozen.Failed() == "":
		return p.level, p.why // it is being frozen
	case container != "":
		why = p.frozen.Failed()
	}
	return withoutCPU, "it is not connected through the shim (gpushare.step), so nothing lets it wait between two steps. " +
		"Its processes are not frozen either: " + why
}

// thaw lets the processes of a job that leaves run, so that they receive their signals.
func (n *Node) thaw(j *job) {
	if id, due := j.pause.frozen.Leave(); due {
		n.out.Freezes = append(n.out.Freezes, ContainerFreeze{Pod: j.pod.Ref.UID, Container: id})
	}
}

func (e FreezeFinished) apply(n *Node) {
	of := n.jobs[e.Pod]
	if of == nil {
		return
	}
	j := of.identity()
	j.pause.frozen.Answered(e.Container, e.Frozen, e.Err)
	if e.Err != "" {
		n.log(Warn, "the container of a paused job could not be frozen or thawed", "job", j.pod.Ref, "frozen", e.Frozen, "err", e.Err)
	}
	n.followPause(j)
	n.followSave(j)
}
