package node

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/trial"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// attempts is how many configs one generation of advice can have. A job accepts a config only if its generation is
// newer than the last. A batch size on trial may have to be taken back under the same advice, so that the generation on
// the wire of such a job is the advice's times attempts, plus a count.
const attempts = 1 << 20

func (e AdviceChanged) apply(n *Node) {
	n.advice = e.Advice
	for _, j := range n.sorted() {
		if a, ok := n.advice[j.pod.Ref.UID]; ok && a.Generation != j.advice.Generation {
			n.deliver(j)
		}
	}
}

// deliver sends a job what it should run with: the newest advice that its user permits, the batch size on trial, and
// its duty.
func (n *Node) deliver(j *job) {
	n.deliverDuty(j)
	config := n.wantedConfig(j)
	if config.Values == (wire.Values{}) && !n.revokesDuty(j) {
		return
	}
	if err := encodable(config); err != nil {
		n.log(Warn, "invalid advice is not delivered", "job", j.pod.Ref, "generation", config.Generation, "err", err.Error())
		return
	}
	for _, slot := range n.slotsOf(j.pod.Ref.UID) {
		n.out.Configs = append(n.out.Configs, SlotConfig{Slot: slot, Config: config})
	}
}

// revokesDuty reports whether a config without values is sent. A shim of the previous release has its duty in the
// config, and ignores duty messages: a config without a duty ends the duty that it had from an earlier coordinator.
func (n *Node) revokesDuty(j *job) bool { return j.duty != 0 }

// wantedConfig is what a job should run with.
func (n *Node) wantedConfig(j *job) wire.Config {
	var config wire.Config
	advice, ok := n.advice[j.pod.Ref.UID]
	if ok {
		j.advice = advice
		if j.spec.Allows(gpushare.TuneLoaders) && !j.trial.InProgress() { // a trial changes one thing at a time
			config.Loaders = advice.Loaders
		}
	}
	if size := j.trial.Requested; size > 0 {
		config.BatchSize = &size
	}
	config.Generation = j.advice.Generation
	if j.tried() {
		config.Generation = j.advice.Generation*attempts + j.attempt
	}
	return config
}

// tried reports whether the job has had a batch size on trial.
func (j *job) tried() bool { return j.trial.To != 0 }

// adviceGeneration is the generation of the advice that a config was made from.
func (j *job) adviceGeneration(config int64) int64 {
	if j.tried() {
		return config / attempts
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
	}
}

// apply updates the values that a job reports to run with.
func (e ConfigAcked) apply(n *Node) {
	j := n.jobOf(e.Slot)
	if j == nil {
		return
	}
	generation := j.adviceGeneration(e.Ack.Generation)
	if generation > max(j.sent, j.advice.Generation) {
		n.out.Counts.BadAcks++
		n.log(Warn, "a job acknowledges a config that it was not sent", "job", j.pod.Ref, "generation", generation)
		return
	}
	before := j.running
	j.applied = max(j.applied, generation)
	j.sent = max(j.sent, generation)
	if e.Ack.Applied.Loaders != nil {
		j.running.Loaders = e.Ack.Applied.Loaders
	}
	if e.Ack.Applied.BatchSize != nil {
		j.running.BatchSize = e.Ack.Applied.BatchSize
	}
	n.announce(j, "LoadersChanged", "Data-loader workers", before.Loaders, j.running.Loaders, j.advice.Reason)
	why := j.advice.Reason
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
	message := fmt.Sprintf("%s: %s → %d, acknowledged by the job", what, was, *to)
	if why != "" {
		message += " (" + why + ")"
	}
	n.event(j, time.Second, false, reason, message)
	n.log(Info, "a job has followed advice", "job", j.pod.Ref, "what", what, "from", was, "to", *to, "generation", j.applied)
}
