package node_test

import (
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/node"
)

// runModel runs a command about the model of the cluster. It reports whether the command is one.
func (s *scenario) runModel(what string, args []string) bool {
	switch what {
	case "learned":
		s.learn(strings.Split(args[0], ","), values(args[1:])["speed"])
	case "unlearned":
		s.cluster = interference.NewLearner(interference.Prior())
	default:
		return false
	}
	s.step(node.InterferenceLearned{Model: s.cluster.Model()})
	return true
}

// learn lets the cluster learn that all jobs of a set are equally fast on another node.
func (s *scenario) learn(names []string, speed string) {
	mean, err := strconv.ParseFloat(speed, 64)
	require.NoError(s.t, err)
	m := interference.Measurement{Seconds: 60}
	for _, name := range names {
		sample, ok, err := s.node.Sample(uid(name))
		require.NoError(s.t, err)
		require.True(s.t, ok)
		m.Set = append(m.Set, interference.Member{Kind: sample.Kind, Activity: 1, Speed: mean, Deviation: 0.02})
	}
	for range 10 {
		require.NoError(s.t, s.cluster.Observe(m))
	}
}
