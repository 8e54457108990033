package node

import (
	"cmp"
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/trial"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// configsPerAdvice bounds the configs that are sent for one generation of advice. A job accepts a config only if its
// generation is newer than the last one. A trial sends several configs for the same advice, so a job with a trial gets
// generations of its own: the advice's generation times configsPerAdvice, plus a count.
const configsPerAdvice = 1 << 20

func (e AdviceChanged) apply(n *Node) {
	n.advice = e.Advice
	for _, j := range n.sorted() {
		if a, ok := n.advice[j.pod.Ref.UID]; ok && a.Generation != j.advice.Generation {
			n.deliver(j)
			n.announceLimit(j)
		}
	}
}

// deliver sends a job its config: the newest advice that its user permits, and the batch size on trial.
func (n *Node) deliver(j *job) {
	n.deliverDuty(j)
	n.deliverStop(j)
	config := n.wantedConfig(j)
	if config.Values == (wire.Values{}) && !n.revokesDuty(j) {
		return
	}
	if err := encodable(config); err != nil {
		n.log(Warn, "invalid advice is not delivered", "job", j.pod.Ref, "generation", config.Generation, "err", err.Error())
		return
	}
	for _, slot := range n.Slots(j.pod.Ref.UID) {
		n.out.Configs = append(n.out.Configs, SlotConfig{Slot: slot, Config: config})
	}
}

// revokesDuty reports whether a config is sent even if it has no values. A shim of the previous release ignores duty
// messages and reads its duty from configs. A config without a duty ends the duty that an earlier coordinator set.
func (n *Node) revokesDuty(j *job) bool { return j.dutyEnded }

// wantedConfig returns the config that a job should apply.
func (n *Node) wantedConfig(j *job) wire.Config {
	var config wire.Config
	advice, ok := n.advice[j.pod.Ref.UID]
	if ok {
		j.advice = advice
		if j.spec.Allows(gpushare.TuneLoaders) && !j.trial.InProgress() { // one setting changes at a time
			config.Loaders = advice.Loaders
		}
	}
	if size := j.trial.Requested; size > 0 {
		config.BatchSize = &size
	}
	config.Generation = j.advice.Generation
	if j.tried() {
		config.Generation = j.advice.Generation*configsPerAdvice + j.attempt
	}
	return config
}

// tried reports whether the job has ever had a trial.
func (j *job) tried() bool { return j.trial.To != 0 }

// adviceGeneration returns the generation of the advice from which a config with the given generation was made.
func (j *job) adviceGeneration(config int64) int64 {
	if j.tried() {
		return config / configsPerAdvice
	}
	return config
}

// encodable returns an error for a config that the job would reject.
func encodable(config wire.Config) error {
	line, err := wire.Encode(config)
	if err == nil {
		_, err = wire.Decode(line)
	}
	return err
}

func (e ConfigSent) apply(n *Node) {
	if j := n.jobOf(e.Slot); j != nil {
		j.sent = max(j.sent, j.adviceGeneration(e.Generation))
		j.sentConfig = max(j.sentConfig, e.Generation)
	}
}

// apply updates the settings that a job has acknowledged.
func (e ConfigAcked) apply(n *Node) {
	j := n.jobOf(e.Slot)
	if j == nil {
		return
	}
	generation := j.adviceGeneration(e.Ack.Generation)
	if generation > max(j.sent, j.advice.Generation) {
		n.out.Counts.BadAcks++
		n.log(Warn, "a job acknowledges a config that was never sent", "job", j.pod.Ref, "generation", generation)
		return
	}
	before := j.running
	all := j.settings.ack(e)
	j.sent = max(j.sent, generation)
	j.sentConfig = max(j.sentConfig, e.Ack.Generation)
	j.running = j.settings.running(j.running, j.sentConfig)
	if !all {
		return
	}
	j.applied = max(j.applied, generation)
	j.running.Loaders = cmp.Or(e.Ack.Applied.Loaders, j.running.Loaders)
	j.running.BatchSize = cmp.Or(e.Ack.Applied.BatchSize, j.running.BatchSize)
	n.announce(j, "LoadersChanged", "Data-loader workers", before.Loaders, j.running.Loaders, j.advice.Reason)
	why := cmp.Or(j.advice.BatchReason, j.advice.Reason)
	if j.trial.Phase == trial.RollingBack {
		why = "as before the trial"
	}
	n.announce(j, "BatchSizeChanged", "Batch size", before.BatchSize, j.running.BatchSize, why)
	n.publish(j, false)
}

// announce records an event if a value has changed.
func (n *Node) announce(j *job, reason, what string, from, to *int, why string) {
	if to == nil || (from != nil && *from == *to) {
		return
	}
	was := "the job's own"
	if from != nil {
		was = fmt.Sprint(*from)
	}
	message := fmt.Sprintf("%s: %s → %d%s, acknowledged by the job", what, was, *to, j.settings.perProcess(*to))
	if why != "" {
		message += " (" + why + ")"
	}
	n.event(j, time.Second, false, reason, message)
	n.log(Info, "a job has applied advice", "job", j.pod.Ref, "what", what, "from", was, "to", *to, "generation", j.applied)
}
