package contract

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
)

// CheckpointFile is the name of kubelet's checkpoint in its plugin directory.
const CheckpointFile = "kubelet_internal_checkpoint"

// testCheckpointLost shows why the plugin needs its own records of which pod holds which ids (slice.Holding).
func testCheckpointLost(s *harness, fault CheckpointFault) {
	p := s.startPlugin(5, allOptions())
	pod := s.startPod(s.pod("pod", 2))
	held := s.mustList(pod)["a"]
	s.LoseCheckpoint(fault)
	p.awaitSocketRemoved()
	p.stop()
	p.serve()
	p.register()
	s.eventually(func() bool { return s.knows(pod) }, "kubelet lists the pod again")
	require.Empty(s.t, s.mustList(pod), "it has forgotten the pod's devices")
	_, runs := s.Pods.Inspect(pod.Name, "a")
	require.True(s.t, runs)
	require.Len(s.t, p.recorded(allocate), 1, "it does not allocate for a running container")
	s.awaitNodeStatus(5, 5)

	others := without(p.healthy(), held...)
	p.respondWith(responses{preferred: func(c call) ([]string, error) { return without(c.available, held...), nil }})
	next := s.startPod(s.pod("next", 3))
	calls := p.recorded(prefer)
	require.Equal(s.t, p.healthy(), calls[len(calls)-1].available, "it offers them to other pods")
	require.Equal(s.t, others, s.mustList(next)["a"], "and takes the preferred ones")
	s.Pods.End(pod.Name)
	require.Empty(s.t, s.mustList(pod))
	require.Equal(s.t, others, s.mustList(next)["a"])
}

// knows reports whether kubelet lists the pod, with or without devices.
func (s *harness) knows(pod Pod) bool {
	all, err := s.kubelet().List(s.t.Context())
	if err != nil {
		return false
	}
	for _, name := range all.Pods {
		if name == (kubelet.PodName{Namespace: Namespace, Name: pod.Name}) {
			return true
		}
	}
	return false
}

// flipByte changes one byte in the middle of a file.
func flipByte(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if len(content) == 0 {
		return fmt.Errorf("%s is empty", filepath.Base(file))
	}
	content[len(content)/2] ^= 1
	return os.WriteFile(file, content, 0o600)
}
