package pods_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
)

func TestRead_Threads(t *testing.T) {
	one := func(name, value string) []corev1.EnvVar { return []corev1.EnvVar{{Name: name, Value: value}} }
	for name, tc := range map[string]struct {
		env  []corev1.EnvVar
		want int
	}{
		"no variable":                 {nil, 0},
		"as admission sets it":        {append(one("OMP_NUM_THREADS", "4"), one("TF_NUM_INTRAOP_THREADS", "4")...), 4},
		"the largest of several":      {append(one("OMP_NUM_THREADS", "1"), one("RAYON_NUM_THREADS", "6")...), 6},
		"a list for nested regions":   {one("OMP_NUM_THREADS", " 4, 3,2"), 4},
		"more than any node has":      {one("MKL_NUM_THREADS", "100000"), 1024},
		"more digits than an integer": {one("MKL_NUM_THREADS", "99999999999999999999"), 0},
		"zero":                        {one("OMP_NUM_THREADS", "0"), 0},
		"negative":                    {one("OMP_NUM_THREADS", "-4"), 0},
		"no number":                   {one("OMP_NUM_THREADS", "$(nproc)"), 0},
		"empty":                       {one("OMP_NUM_THREADS", ""), 0},
		"another variable":            {one("WORKER_THREADS", "4"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(container("train", "500m", ""))
			p.Spec.Containers[0].Env = tc.env
			require.Equal(t, tc.want, pods.Read(p).Threads)
		})
	}
}

func TestRead_ThreadsAreThoseOfTheTrainingContainer(t *testing.T) {
	p := pod(container("train", "500m", ""), container("log", "100m", ""))
	p.Spec.Containers[1].Env = []corev1.EnvVar{{Name: "OMP_NUM_THREADS", Value: "8"}}
	require.Zero(t, pods.Read(p).Threads)
}
