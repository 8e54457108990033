package node

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// oncePerJob is the period of events that are recorded once in a job's lifetime.
const oncePerJob time.Duration = 1 << 62

// event records a Kubernetes event about a job. It records each reason at most once per period.
func (n *Node) event(j *job, period time.Duration, warning bool, reason, message string) {
	if last, ok := j.eventTimes[reason]; ok && n.now.Sub(last) < period {
		return
	}
	j.eventTimes[reason] = n.now
	n.podEvent(j.pod.Ref, warning, reason, message)
}

func (n *Node) podEvent(pod growth.PodRef, warning bool, reason, message string) {
	n.out.Events = append(n.out.Events, PodEvent{Pod: pod, Warning: warning, Reason: reason, Message: message})
}

func (n *Node) annotate(pod growth.PodRef, name, value string) {
	n.out.Annotations = append(n.out.Annotations, Annotation{Pod: pod, Name: name, Value: value})
}

func (n *Node) log(level Level, message string, fields ...any) {
	n.out.Log = append(n.out.Log, LogEntry{Level: level, Message: message, Fields: fields})
}

// publish requests that a job's sample is published.
func (n *Node) publish(j *job, urgent bool) {
	for i, due := range n.out.Samples {
		if due.Pod == j.pod.Ref.UID {
			n.out.Samples[i].Urgent = due.Urgent || urgent
			return
		}
	}
	n.out.Samples = append(n.out.Samples, SampleDue{Pod: j.pod.Ref.UID, Urgent: urgent})
}
