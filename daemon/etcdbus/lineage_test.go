package etcdbus

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

func TestLineage(t *testing.T) {
	known := etcdserverpb.ResponseHeader{ClusterId: 1, RaftTerm: 4, Revision: 7}
	for name, tc := range map[string]struct {
		next     etcdserverpb.ResponseHeader
		replaced bool
	}{
		"no change":                        {known, false},
		"later changes, and an election":   {etcdserverpb.ResponseHeader{ClusterId: 1, RaftTerm: 5, Revision: 9}, false},
		"an empty etcd":                    {etcdserverpb.ResponseHeader{ClusterId: 1, RaftTerm: 2, Revision: 1}, true},
		"an empty one after elections":     {etcdserverpb.ResponseHeader{ClusterId: 1, RaftTerm: 6, Revision: 1}, true},
		"one that has caught up since":     {etcdserverpb.ResponseHeader{ClusterId: 1, RaftTerm: 2, Revision: 40}, true},
		"a backup, which is a new cluster": {etcdserverpb.ResponseHeader{ClusterId: 3, RaftTerm: 9, Revision: 40}, true},
	} {
		t.Run(name, func(t *testing.T) {
			listed := lineage{revision: 5} // a list has no cluster
			require.NoError(t, listed.add(&known))
			err := listed.add(&tc.next)
			if !tc.replaced {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, errReplaced)
			require.Equal(t, lineage{cluster: 1, term: 4, revision: 7}, listed)
		})
	}
	require.ErrorIs(t, (&lineage{revision: 8}).add(&known), errReplaced, "less than was listed")
}
