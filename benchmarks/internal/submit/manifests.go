package submit

import (
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// list is a List of Kubernetes, which kubectl applies.
type list struct {
	metav1.TypeMeta `json:",inline"`
	Items           []any `json:"items"`
}

// Manifests prints all objects of the submission as json or yaml, or the jobs as a table.
func (s Submission) Manifests(w io.Writer, format string) error {
	if format == "table" {
		return newReport(s).Write(w, format)
	}
	all := list{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}}
	room, scripts := s.Setup.Room(), s.Setup.Scripts(s.Scripts)
	room.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}
	scripts.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	all.Items = append(all.Items, room, scripts)
	for _, job := range s.Jobs {
		pod := s.pod(job)
		pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		all.Items = append(all.Items, pod)
	}
	return write(w, format, all)
}
