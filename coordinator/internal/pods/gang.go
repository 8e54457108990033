package pods

import (
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/daemon/jobkind"
)

// jobSetLabel and jobSetUIDLabel are on each pod of a JobSet. The controller of such a pod is a Job of the JobSet.
const (
	jobSetLabel    = "jobset.sigs.k8s.io/jobset-name"
	jobSetUIDLabel = "jobset.sigs.k8s.io/jobset-uid"
)

var (
	// rankOption matches an option of a launcher with the number of a process or a node. It differs within one job.
	rankOption = regexp.MustCompile(`(?i)([a-z]*[-_]?(?:rank|index)["']?[=\s]+["']?)[0-9]+`)
	// nodesOption and masterOption match the options of a launcher for a job of several nodes.
	nodesOption  = regexp.MustCompile(`(?i)--(?:nnodes|num[-_]?nodes|num[-_]machines)["']?[=\s]+["']?([0-9:]+)`)
	masterOption = regexp.MustCompile(`(?i)--(?:master[-_]addr|rdzv[-_]endpoint|main[-_]process[-_]ip)["']?[=\s]+["']?([^\s"']+)`)
)

// owner returns the UID of the object that has created a pod, or "" for a pod that a user has created.
func owner(p *corev1.Pod) string {
	if uid := p.Labels[jobSetUIDLabel]; uid != "" {
		return uid
	}
	if name := p.Labels[jobSetLabel]; name != "" {
		return "jobset/" + name
	}
	if controller := metav1.GetControllerOf(p); controller != nil {
		return string(controller.UID)
	}
	return ""
}

// command identifies the images and commands of a pod with their numbers, except the numbers of ranks.
func command(p *corev1.Pod) string {
	var parts []string
	for _, c := range p.Spec.Containers {
		parts = append(parts, c.Image, rankOption.ReplaceAllString(commandLine(c), "${1}#"))
	}
	return jobkind.Digest(parts...)
}

func commandLine(c corev1.Container) string {
	return strings.Join(append(append([]string(nil), c.Command...), c.Args...), " ")
}

// distributed reports whether the command or the environment of a pod is that of a process in a job of several pods. A
// master on the pod itself is that of a job with one pod.
func distributed(p *corev1.Pod) bool {
	for _, c := range p.Spec.Containers {
		line := commandLine(c)
		if m := nodesOption.FindStringSubmatch(line); m != nil && several(m[1]) {
			return true
		}
		if m := masterOption.FindStringSubmatch(line); m != nil && remote(m[1]) {
			return true
		}
		for _, e := range c.Env {
			switch e.Name {
			case "WORLD_SIZE", "PET_NNODES", "NNODES":
				if several(e.Value) {
					return true
				}
			case "MASTER_ADDR", "PET_MASTER_ADDR", "PET_RDZV_ENDPOINT":
				if e.ValueFrom != nil || remote(e.Value) {
					return true
				}
			}
		}
	}
	return false
}

// several reports whether a text is a number above 1, or a range of numbers such as "2:4".
func several(text string) bool {
	low, _, _ := strings.Cut(text, ":")
	n, err := strconv.Atoi(low)
	return err == nil && n > 1
}

// remote reports whether an address is not that of the pod itself.
func remote(address string) bool {
	host := strings.ToLower(strings.TrimSpace(address))
	switch {
	case host == "" || host == "::1" || strings.HasPrefix(host, "[::1]"):
		return false
	}
	host, _, _ = strings.Cut(host, ":")
	return host != "localhost" && host != "0.0.0.0" && !strings.HasPrefix(host, "127.")
}
