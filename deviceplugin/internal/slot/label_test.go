package slot

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/shim"
)

// labels are the labels of a node with SELinux, where new files have the type var_lib_t.
type labels struct {
	changed map[string]string
	refuses bool
}

func (l labels) Get(path string) (string, error) {
	if label, ok := l.changed[path]; ok {
		return label, nil
	}
	return "system_u:object_r:var_lib_t:s0", nil
}

func (l labels) Set(path, label string) error {
	if l.refuses {
		return errors.New("permission denied")
	}
	l.changed[path] = label
	return nil
}

func TestEnsure_SharesTheSlotUnderSELinux(t *testing.T) {
	l := labels{changed: map[string]string{}}
	store, err := open(t.TempDir(), l)
	require.NoError(t, err)
	dir, err := store.Ensure([]string{"GPU-1/0"})
	require.NoError(t, err)
	const shared = "system_u:object_r:container_file_t:s0"
	require.Equal(t, map[string]string{dir: shared, filepath.Join(dir, shim.FileName): shared}, l.changed)
	require.NoError(t, store.LabelErr())
}

func TestEnsure_RunsTheContainerWithoutLabels(t *testing.T) {
	store, err := open(t.TempDir(), labels{refuses: true})
	require.NoError(t, err)
	_, err = store.Ensure([]string{"GPU-1/0"})
	require.NoError(t, err)
	require.ErrorContains(t, store.LabelErr(), "permission denied")
}
