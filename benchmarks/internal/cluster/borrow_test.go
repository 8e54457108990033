package cluster_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBorrow(t *testing.T) {
	const isDown = `[ "$1" != status ] || exit 1; `
	up := func(more string) string { return "up --name demo --nodes 2" + more + "\n" }
	whilePID := fmt.Sprintf(" --with-pid %d", os.Getpid())
	for name, tc := range map[string]struct {
		body  string // of the program
		keep  bool
		fails bool
		asked string // of the program, except for its status
		said  []string
		goes  bool
	}{
		"up already":                {"", false, false, "", []string{"is up already"}, false},
		"up already, and kept":      {"", true, false, "", []string{"is up already"}, false},
		"brought up":                {isDown + `[ "$1" != list ] || echo demo`, false, false, up(whilePID) + "down --name demo\n", []string{"bringing cluster demo up", "taking cluster demo down"}, true},
		"brought up, and kept":      {isDown, true, false, up(""), []string{"bringing cluster demo up", "cluster demo stays: export KUBECONFIG=kubeconfig --name demo;"}, false},
		"half of it came up":        {isDown + `[ "$1" != list ] || echo demo; [ "$1" != up ]`, false, true, up(whilePID) + "down --name demo\n", []string{"bringing cluster demo up", "taking cluster demo down"}, true},
		"nothing of it came up":     {isDown + `[ "$1" != up ]`, false, true, up(whilePID), []string{"bringing cluster demo up"}, true},
		"kept, and did not come up": {isDown + `[ "$1" != up ]`, true, true, up(""), []string{"bringing cluster demo up"}, false},
		"its kubeconfig is unknown": {isDown + `[ "$1" != kubeconfig ]`, false, true, up(whilePID), []string{"bringing cluster demo up"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			local := script(t, tc.body)
			var said []string
			borrowed, err := local.Borrow(t.Context(), tc.keep, func(format string, values ...any) { said = append(said, fmt.Sprintf(format, values...)) })
			require.Equal(t, tc.fails, err != nil, err)
			require.Equal(t, tc.goes, borrowed.Goes)
			if !tc.fails {
				require.Equal(t, "kubeconfig --name demo", borrowed.Kubeconfig)
			}
			require.NoError(t, borrowed.GiveBack(t.Context()))
			require.Equal(t, tc.asked, local.Out.(*bytes.Buffer).String())
			require.Len(t, said, len(tc.said))
			for i := range said {
				require.True(t, strings.Contains(said[i], tc.said[i]), said[i])
			}
		})
	}
}
