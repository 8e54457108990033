package gangs_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// gangsBefore is the number of earlier gangs that cannot be placed: as many as one pass considers.
const gangsBefore = 128

func TestPlacer_ConsidersGangsAfterManyThatCannotBePlaced(t *testing.T) {
	for name, earlier := range map[string]func(c *cluster, name string){
		"too large": func(c *cluster, name string) {
			c.filter(c.createOf(name, 2, 16, 2))
		},
		"incomplete": func(c *cluster, name string) {
			c.filter(c.createOf(name, 3, 4, 2))
		},
		"gated": func(c *cluster, name string) {
			pods := c.createOf(name, 2, 4, 2)
			c.filter(pods[:1])
			pods[1].Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/admission"}}
			c.Update(pods[1])
		},
		"never asked for": func(c *cluster, name string) {
			c.createOf(name, 2, 4, 2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, 8)
				c.Settle()
				for i := range gangsBefore {
					earlier(c, fmt.Sprintf("earlier%d", i))
					synctest.Wait() // the fake client buffers 100 changes
				}
				c.Settle()
				pods := c.create("later", 2)
				c.filter(pods)
				for range 3 {
					c.pass()
				}
				fit, _ := c.filter(pods)
				require.Equal(t, [][]string{{"a"}, {"a"}}, fit)
				require.Equal(t, gangsBefore+1, c.placer.Waiting())
			})
		})
	}
}
