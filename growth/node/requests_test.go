package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
)

func podOf(containers ...node.Container) node.Pod {
	return node.Pod{Annotations: map[string]string{}, Containers: containers}
}

func TestPod_Original(t *testing.T) {
	now := node.Requests{"train": 250, "side": 50}
	for name, tc := range map[string]struct {
		annotation string
		want       node.Requests
		kept       bool
	}{
		"no annotation":              {"", now, false},
		"preserved":                  {"train=500m,side=100m", node.Requests{"train": 500, "side": 100}, true},
		"in cores":                   {"train=1,side=100m", node.Requests{"train": 1000, "side": 100}, true},
		"a container of another pod": {"train=500m,other=100m", now, false},
		"one container is missing":   {"train=500m", now, false},
		"negative":                   {"train=-1,side=100m", now, false},
		"too large":                  {"train=99999999,side=1", now, false},
		"an invalid format":          {"lots", now, false},
		"not a number":               {"train=inf,side=1m", now, false},
		"half a core":                {"train=0.5,side=100m", node.Requests{"train": 500, "side": 100}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := podOf(node.Container{Name: "train", Request: 250}, node.Container{Name: "side", Request: 50}, node.Container{Name: "none"})
			if tc.annotation != "" {
				p.Annotations[gpushare.RequestAnnotation] = tc.annotation
			}
			original, kept := p.Original()
			require.Equal(t, tc.want, original)
			require.Equal(t, tc.kept, kept)
		})
	}
	p := podOf(node.Container{Name: "train", Request: 250}, node.Container{Name: "side", Request: 50})
	require.Equal(t, "train=250m,side=50m", p.FormatRequests(p.Requests()))
}

func TestRequests_Distance(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b node.Requests
		want growth.MilliCPU
	}{
		"equal requests":                   {node.Requests{"train": 500}, node.Requests{"train": 500}, 0},
		"equal sums, different containers": {node.Requests{"train": 500, "side": 100}, node.Requests{"train": 400, "side": 200}, 200},
		"one side lacks a container":       {node.Requests{"train": 500}, node.Requests{"train": 490, "side": 5}, 15},
		"one side is empty":                {nil, node.Requests{"train": 500}, 500},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, tc.a.Distance(tc.b))
			require.Equal(t, tc.want, tc.b.Distance(tc.a))
		})
	}
}

func TestPod_Divide(t *testing.T) {
	p := podOf(node.Container{Name: "train", Request: 500}, node.Container{Name: "side", Request: 100, Limit: 120})
	original, _ := p.Original()
	require.Equal(t, node.Requests{"train": 250, "side": 50}, p.Divide(300, original))
	require.Equal(t, node.Requests{"train": 5, "side": 1}, p.Divide(6, original))
	require.Equal(t, node.Requests{"train": 1000, "side": 119}, p.Divide(1200, original), "the request stays below the limit")
	for total := growth.MilliCPU(10); total < 1000; total += 7 {
		require.LessOrEqual(t, p.Divide(total, original).Sum(), total)
	}
}
