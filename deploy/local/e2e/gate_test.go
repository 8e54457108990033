//go:build e2e && linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// gate keeps Jobs running until it is opened.
type gate struct {
	t      *testing.T
	folder string
}

func newGate(t *testing.T) gate {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.Chmod(folder, 0o755))
	return gate{t: t, folder: folder}
}

func (g gate) open() {
	g.t.Helper()
	require.NoError(g.t, os.WriteFile(filepath.Join(g.folder, "open"), nil, 0o644))
}

// job is the printed Job with a program that waits at the gate, on nodes of one core.
func (g gate) job(printed string) string {
	g.t.Helper()
	const printedImage = "        image: registry.example.com/train:1\n"
	require.Contains(g.t, printed, printedImage)
	program := `        image: trellis.local/pause:1
        command: [/bin/bash, -c, "until [ -e /gate/open ]; do sleep 0.2; done"]
        volumeMounts:
        - {name: gate, mountPath: /gate, readOnly: true}
        - {name: usr, mountPath: /usr, readOnly: true}
        - {name: bin, mountPath: /bin, readOnly: true}
        - {name: lib, mountPath: /lib, readOnly: true}
        - {name: lib64, mountPath: /lib64, readOnly: true}
`
	volumes := `      volumes:
      - {name: gate, hostPath: {path: ` + g.folder + `}}
      - {name: usr, hostPath: {path: /usr}}
      - {name: bin, hostPath: {path: /bin}}
      - {name: lib, hostPath: {path: /lib}}
      - {name: lib64, hostPath: {path: /lib64}}
`
	return strings.NewReplacer(printedImage, program, "cpu: 500m", "cpu: 100m", "memory: 1Gi", "memory: 64Mi").Replace(printed) + volumes
}
