package mover

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// maxMessage bounds what is repeated of a program's last words.
const maxMessage = 200

// trouble returns why the containers of a pod do not run, and whether that will not pass by itself: one has failed, or kubelet has refused
// or evicted the pod.
func trouble(pod *corev1.Pod) (why string, fails bool) {
	if s := pod.Status; s.Phase == corev1.PodFailed && s.Reason != "" {
		return fmt.Sprintf("its kubelet has ended it: %.*s", maxMessage, s.Reason+" "+s.Message), true
	}
	for _, c := range pod.Status.ContainerStatuses {
		last := c.LastTerminationState.Terminated
		if c.State.Terminated != nil {
			last = c.State.Terminated
		}
		switch {
		case c.State.Running != nil:
		case last != nil && last.ExitCode != 0:
			return fmt.Sprintf("container %s has failed with exit code %d: %.*s", c.Name, last.ExitCode, maxMessage, last.Reason+" "+last.Message), true
		case c.State.Waiting != nil:
			why = fmt.Sprintf("container %s waits: %.*s", c.Name, maxMessage, c.State.Waiting.Reason+" "+c.State.Waiting.Message)
		}
	}
	return why, false
}
