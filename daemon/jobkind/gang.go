package jobkind

import (
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/growth/gpushare"
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

// Owner identifies what has created a pod: the UID of an object, or the gang that a user has named. It is empty for a pod that
// is a job of its own.
func Owner(p *corev1.Pod) string {
	gang, err := gpushare.ParseGang(p.Annotations[gpushare.GangAnnotation])
	switch {
	case err == nil && gang.Apart:
		return ""
	case err == nil && gang.Name != "":
		return "gang/" + gang.Name
	}
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

// Command identifies the images and commands of a pod with their numbers, except the numbers of ranks.
func Command(p *corev1.Pod) string {
	var parts []string
	for _, c := range p.Spec.Containers {
		parts = append(parts, c.Image, rankOption.ReplaceAllString(commandLine(c), "${1}#"))
	}
	return Digest(parts...)
}

func commandLine(c corev1.Container) string {
	return strings.Join(append(append([]string(nil), c.Command...), c.Args...), " ")
}

// Distributed reports whether the annotations, the command or the environment of a pod are those of a process in a job of
// several pods. A master on the pod itself is that of a job with one pod.
func Distributed(p *corev1.Pod) bool {
	if gang, err := gpushare.ParseGang(p.Annotations[gpushare.GangAnnotation]); err == nil && gang.Size > 1 {
		return true
	}
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
