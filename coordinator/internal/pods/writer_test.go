package pods_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func managed(manager, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager:     manager,
		Subresource: subresource,
		FieldsV1:    metav1.NewFieldsV1(fields),
	}
}

func TestRead_ResizedBy(t *testing.T) {
	const (
		cpu    = `{"f:spec":{"f:containers":{"k:{\"name\":\"train\"}":{"f:resources":{"f:requests":{"f:cpu":{}}}}}}}`
		limit  = `{"f:spec":{"f:containers":{"k:{\"name\":\"train\"}":{"f:resources":{"f:limits":{"f:cpu":{}}}}}}}`
		memory = `{"f:spec":{"f:containers":{"k:{\"name\":\"train\"}":{"f:resources":{"f:requests":{"f:memory":{}}}}}}}`
	)
	for name, tc := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    string
	}{
		"never resized":             {[]metav1.ManagedFieldsEntry{managed("kubectl-create", "", cpu)}, ""},
		"by Trellis":                {[]metav1.ManagedFieldsEntry{managed(gpushare.FieldManager, "resize", cpu)}, gpushare.FieldManager},
		"by an autoscaler":          {[]metav1.ManagedFieldsEntry{managed("vpa-updater", "resize", cpu)}, "vpa-updater"},
		"by both, Trellis first":    {[]metav1.ManagedFieldsEntry{managed(gpushare.FieldManager, "resize", cpu), managed("vpa-updater", "resize", cpu)}, "vpa-updater"},
		"by both, Trellis last":     {[]metav1.ManagedFieldsEntry{managed("vpa-updater", "resize", cpu), managed(gpushare.FieldManager, "resize", cpu)}, "vpa-updater"},
		"only memory":               {[]metav1.ManagedFieldsEntry{managed("vpa-updater", "resize", memory)}, ""},
		"only a limit":              {[]metav1.ManagedFieldsEntry{managed("vpa-updater", "resize", limit)}, ""},
		"kubelet writes the status": {[]metav1.ManagedFieldsEntry{managed("kubelet", "status", cpu)}, ""},
		"invalid fields":            {[]metav1.ManagedFieldsEntry{managed("x", "resize", `{"f:cpu":`), managed("y", "resize", `["f:cpu"]`)}, ""},
		"no fields":                 {[]metav1.ManagedFieldsEntry{{Manager: "x", Subresource: "resize"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(container("train", "500m", ""))
			p.ManagedFields = tc.entries
			require.Equal(t, tc.want, pods.Read(p).ResizedBy)
		})
	}
}

func FuzzRead_ManagedFields(f *testing.F) {
	f.Add(`{"f:spec":{"f:containers":{"k:{\"name\":\"train\"}":{"f:resources":{"f:requests":{"f:cpu":{}}}}}}}`)
	f.Add(`{"f:spec":{"f:containers":7}} "f:cpu"`)
	f.Fuzz(func(t *testing.T, fields string) {
		p := pod(container("train", "500m", ""))
		p.ManagedFields = []metav1.ManagedFieldsEntry{managed("m", "resize", fields)}
		require.Contains(t, []string{"", "m"}, pods.Read(p).ResizedBy)
	})
}
