package pods_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
)

func TestRead_Owner(t *testing.T) {
	controller := true
	for name, tc := range map[string]struct {
		labels map[string]string
		owners []metav1.OwnerReference
		want   string
	}{
		"a pod that a user has created":  {nil, nil, ""},
		"the controller":                 {nil, []metav1.OwnerReference{{UID: "extra"}, {UID: "job", Controller: &controller}}, "job"},
		"an owner that does not control": {nil, []metav1.OwnerReference{{UID: "extra"}}, ""},
		"a JobSet": {
			map[string]string{"jobset.sigs.k8s.io/jobset-name": "set", "jobset.sigs.k8s.io/jobset-uid": "set-uid"},
			[]metav1.OwnerReference{{UID: "job", Controller: &controller}}, "set-uid",
		},
		"a JobSet without the label of its UID": {
			map[string]string{"jobset.sigs.k8s.io/jobset-name": "set"}, []metav1.OwnerReference{{UID: "job", Controller: &controller}}, "jobset/set",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(container("train", "500m", ""))
			p.Labels, p.OwnerReferences = tc.labels, tc.owners
			require.Equal(t, tc.want, pods.Read(p).Owner)
		})
	}
}

func TestRead_CommandOmitsOnlyTheNumbersOfRanks(t *testing.T) {
	of := func(words ...string) string {
		p := pod(container("train", "500m", ""))
		p.Spec.Containers[0].Command = words
		return pods.Read(p).Command
	}
	plain := of("python3", "train.py", "--node_rank=0", "--lr", "0.1")
	require.NotEmpty(t, plain)
	require.Equal(t, plain, of("python3", "train.py", "--node_rank=1", "--lr", "0.1"))
	require.NotEqual(t, plain, of("python3", "train.py", "--node_rank=0", "--lr", "0.2"), "a search for the learning rate")
	require.Equal(t, of("torchrun", "--node-rank", "0", "train.py"), of("torchrun", "--node-rank", "13", "train.py"))
	require.Equal(t, of("sh", "-c", "torchrun --machine_rank 0 x"), of("sh", "-c", "torchrun --machine_rank 1 x"))
	require.NotEqual(t, of("python3", "train.py", "--rank", "0", "--seed", "1"), of("python3", "train.py", "--rank", "0", "--seed", "2"))
}

func TestRead_Distributed(t *testing.T) {
	env := func(name, value string) corev1.Container {
		return corev1.Container{Env: []corev1.EnvVar{{Name: name, Value: value}}}
	}
	args := func(words ...string) corev1.Container { return corev1.Container{Args: words} }
	for name, tc := range map[string]struct {
		container corev1.Container
		want      bool
	}{
		"no variable":               {env("LR", "0.1"), false},
		"PyTorchJob":                {env("WORLD_SIZE", "2"), true},
		"a world size of 1":         {env("WORLD_SIZE", "1"), false},
		"an invalid world size":     {env("WORLD_SIZE", "many"), false},
		"a master":                  {env("MASTER_ADDR", "ddp-0.ddp"), true},
		"a master on the pod":       {env("MASTER_ADDR", "127.0.0.1"), false},
		"a master named localhost":  {env("MASTER_ADDR", "localhost"), false},
		"no master":                 {env("MASTER_ADDR", ""), false},
		"a master from a field":     {corev1.Container{Env: []corev1.EnvVar{{Name: "MASTER_ADDR", ValueFrom: &corev1.EnvVarSource{}}}}, true},
		"an elastic job":            {env("PET_NNODES", "2:4"), true},
		"an endpoint":               {env("PET_RDZV_ENDPOINT", "ddp-0.ddp:29400"), true},
		"torchrun on two nodes":     {args("torchrun", "--nnodes=2", "train.py"), true},
		"torchrun on one node":      {args("torchrun", "--nnodes", "1", "--nproc-per-node=4", "train.py"), false},
		"torchrun with an endpoint": {args("sh", "-c", "torchrun --rdzv-endpoint ddp-0.ddp:29400 train.py"), true},
		"torchrun on its own":       {args("torchrun", "--standalone", "--master-addr", "localhost", "train.py"), false},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(container("train", "500m", ""))
			p.Spec.Containers[0].Env, p.Spec.Containers[0].Args = tc.container.Env, tc.container.Args
			require.Equal(t, tc.want, pods.Read(p).Distributed)
		})
	}
}
