package etcdbus

import (
	"errors"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// errReplaced ends a watch on an etcd whose data is new, or that of a backup. The watch would wait without an error until the new
// revision exceeds the old one, and never report what is missing.
var errReplaced = errors.New("etcd has a lower revision than before: its data was replaced, or restored from a backup")

// lineage is the newest state of etcd that a watch has seen. Revision, and Raft term, never decrease in one cluster. Cluster and term
// are 0 until they are known.
type lineage struct {
	cluster, term uint64
	revision      int64
}

// add adds the header of a linearizable reply. It returns errReplaced if that cannot follow what was seen before.
func (l *lineage) add(h *etcdserverpb.ResponseHeader) error {
	if h.Revision < l.revision || h.RaftTerm < l.term || l.cluster != 0 && h.ClusterId != l.cluster {
		return errReplaced
	}
	*l = lineage{cluster: h.ClusterId, term: h.RaftTerm, revision: h.Revision}
	return nil
}
