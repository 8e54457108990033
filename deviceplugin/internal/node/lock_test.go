package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/node"
)

func TestCheckLock(t *testing.T) {
	now := time.Date(2026, 11, 20, 18, 30, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		lock string
		live bool
	}{
		"taken now":                    {"2026-11-20T18:30:00Z,default,eh-0", true},
		"a time without a pod":         {"2026-11-20T18:28:02Z", true},
		"another time zone":            {"2026-11-20T19:28:02+01:00,default,eh-0", true},
		"a clock ahead of ours":        {"2026-11-20T18:31:00Z,default,eh-0", true},
		"forgotten":                    {"2026-11-20T18:25:00Z,default,eh-0", false},
		"none":                         {"", false},
		"an invalid value":             {"yes", false},
		"an invalid value with commas": {",,2026-11-20T18:30:00Z", false},
	} {
		err := node.CheckLock(map[string]string{"hami.io/mutex.lock": tc.lock}, now)
		if !tc.live {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, node.ErrLocked, name)
		require.ErrorContains(t, err, "uninstall HAMi", name)
		require.ErrorContains(t, err, tc.lock, name)
	}
	require.NoError(t, node.CheckLock(nil, now))
}

func FuzzCheckLock(f *testing.F) {
	f.Add("2026-11-20T18:30:00Z,default,eh-0")
	f.Add("0000-00-00T00:00:00Z")
	f.Fuzz(func(t *testing.T, lock string) {
		if err := node.CheckLock(map[string]string{"hami.io/mutex.lock": lock},
			time.Date(2026, 11, 20, 18, 30, 0, 0, time.UTC)); err != nil {
			require.Less(t, len(err.Error()), 1500)
		}
	})
}
