package etcdbus

import (
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// pending is what has changed since the reader took its last batch. A reader that is slower than the bus gets fewer and larger
// batches, in which of several changes to one key the last counts; it never works off a queue of the past. It takes the
// memory of the keys that changed, not of the changes. The zero value is empty.
type pending struct {
	batch bus.Batch
	// entries and deleted say where in the batch a key is.
	entries, deleted map[string]int
}

// offered is the channel to send the batch to; nil, on which nothing is ever sent, while it is empty.
func (p *pending) offered(out chan<- bus.Batch) chan<- bus.Batch {
	if p.entries == nil {
		return nil
	}
	return out
}

// add takes events in. The batch is of the revision of its last event: a watch that catches up in parts has the store's own,
// newer one in its header.
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

// drop takes a key out of a list, by putting the last one in its place.
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
