package selinux_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/selinux"
)

// labels are the labels of files by path. A policy that refuses returns an error for each change.
type labels struct {
	files   map[string]string
	refuses bool
}

func (l labels) Get(path string) (string, error) { return l.files[path], nil }

func (l labels) Set(path, label string) error {
	if l.refuses {
		return errors.New("permission denied")
	}
	l.files[path] = label
	return nil
}

const shared = "system_u:object_r:container_file_t:s0"

func TestShare(t *testing.T) {
	for name, tc := range map[string]struct{ label, want string }{
		"a new folder":              {"system_u:object_r:var_lib_t:s0", shared},
		"of a pod with categories":  {"system_u:object_r:container_file_t:s0:c5,c9", shared},
		"shared already":            {shared, shared},
		"without a label":           {"", ""},
		"made by an administrator":  {"unconfined_u:object_r:var_lib_t:s0", "unconfined_u:object_r:container_file_t:s0"},
		"of a policy without level": {"system_u:object_r:var_lib_t", shared},
	} {
		t.Run(name, func(t *testing.T) {
			l := labels{files: map[string]string{"/slot": tc.label}}
			require.NoError(t, selinux.Share(l, "/slot"))
			require.Equal(t, tc.want, l.files["/slot"])
		})
	}
	require.NoError(t, selinux.Share(nil, "/slot"), "a node without SELinux")
	require.ErrorContains(t, selinux.Share(labels{files: map[string]string{"/slot": "invalid"}}, "/slot"), "has no type")
}

func TestShare_RefusedByThePolicy(t *testing.T) {
	l := labels{files: map[string]string{"/slot": "system_u:object_r:var_lib_t:s0"}, refuses: true}
	err := selinux.Share(l, "/slot")
	require.ErrorContains(t, err, "labelling /slot as "+shared+": permission denied")
	require.ErrorContains(t, err, "spc_t")
	l.files["/slot"] = shared
	require.NoError(t, selinux.Share(l, "/slot"), "nothing to change")
}

func TestCopy(t *testing.T) {
	l := labels{files: map[string]string{"/slot": shared, "/new.sock": "system_u:object_r:var_lib_t:s0"}}
	require.NoError(t, selinux.Copy(l, "/slot", "/new.sock"))
	require.Equal(t, shared, l.files["/new.sock"])
	require.NoError(t, selinux.Copy(l, "/none", "/new.sock"), "a folder without a label")
	require.Equal(t, shared, l.files["/new.sock"])
	require.NoError(t, selinux.Copy(nil, "/slot", "/new.sock"), "a node without SELinux")
}
