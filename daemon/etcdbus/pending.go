package etcdbus

import (
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// pending merges the changes since the reader received its last batch. Of several changes to one key it keeps the last. A
// slow reader therefore gets fewer and larger batches, and memory grows with the number of changed keys, not of changes.
// The zero value is empty.
type pending struct {
	batch bus.Batch
	// entries and deleted map a key to its index in the batch.
	entries, deleted map[string]int
}

// offered returns out, or nil if there is no batch to send: sending to a nil channel blocks.
func (p *pending) offered(out chan<- bus.Batch) chan<- bus.Batch {
	if p.entries == nil {
		return nil
	}
	return out
}

// add merges events into the batch. The batch gets the revision of its last event. The revision in the reply's header may
// be newer than the events, if a watch is behind and catches up in several replies.
func (p *pending) add(events []*clientv3.Event) {
	if p.entries == nil {
		p.entries, p.deleted = make(map[string]int, len(events)), map[string]int{}
	}
	for _, event := range events {
		key, revision := string(event.Kv.Key), bus.Revision(event.Kv.ModRevision)
		p.batch.Revision = max(p.batch.Revision, revision)
		p.batch.Entries = drop(p.batch.Entries, p.entries, key, func(e bus.Entry) string { return e.Key })
		p.batch.Deleted = drop(p.batch.Deleted, p.deleted, key, func(deleted string) string { return deleted })
		if event.Type == clientv3.EventTypeDelete {
			p.deleted[key] = len(p.batch.Deleted)
			p.batch.Deleted = append(p.batch.Deleted, key)
		} else {
			p.entries[key] = len(p.batch.Entries)
			p.batch.Entries = append(p.batch.Entries, bus.Entry{Key: key, Value: event.Kv.Value, Revision: revision})
		}
	}
}

// drop removes a key from a list and moves the last element to its index.
func drop[T any](list []T, at map[string]int, key string, keyOf func(T) string) []T {
	i, known := at[key]
	if !known {
		return list
	}
	last := len(list) - 1
	list[i] = list[last]
	at[keyOf(list[i])] = i
	delete(at, key)
	return list[:last]
}
