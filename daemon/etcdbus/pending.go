package etcdbus

import (
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// pending collects the changes that the reader of a watch has not received yet. Of several changes to one key only the
// last is kept, so a slow reader gets fewer and larger batches instead of a growing queue. Memory use is proportional to
// the number of changed keys. The zero value is empty.
type pending struct {
	batch bus.Batch
	// entries and deleted are the positions of keys in the lists of the batch. They are nil while the batch is empty.
	entries, deleted map[string]int
}

// outlet returns the channel to send the batch to. It returns nil, on which a send blocks, while the batch is empty.
func (p *pending) outlet(out chan<- bus.Batch) chan<- bus.Batch {
	if p.entries == nil {
		return nil
	}
	return out
}

// add merges events into the batch. The revision of the batch is that of its last event. The revision in the header of a
// watch response can be newer, while a watch catches up.
func (p *pending) add(events []*clientv3.Event) {
	if p.entries == nil {
		p.entries = make(map[string]int, len(events))
		p.deleted = map[string]int{}
	}
	for _, event := range events {
		key := string(event.Kv.Key)
		revision := bus.Revision(event.Kv.ModRevision)
		p.batch.Revision = max(p.batch.Revision, revision)
		p.batch.Entries = remove(p.batch.Entries, p.entries, key, func(e bus.Entry) string { return e.Key })
		p.batch.Deleted = remove(p.batch.Deleted, p.deleted, key, func(deleted string) string { return deleted })
		if event.Type == clientv3.EventTypeDelete {
			p.deleted[key] = len(p.batch.Deleted)
			p.batch.Deleted = append(p.batch.Deleted, key)
		} else {
			p.entries[key] = len(p.batch.Entries)
			p.batch.Entries = append(p.batch.Entries, bus.Entry{Key: key, Value: event.Kv.Value, Revision: revision})
		}
	}
}

// remove removes a key from a list: the last item takes its position. The map at has the positions of all keys.
func remove[T any](list []T, at map[string]int, key string, keyOf func(T) string) []T {
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
