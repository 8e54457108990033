package bus

import (
	"context"
	"errors"
	"time"
)

var (
	// ErrConflict means that a guard failed: the state has changed since it was read. The caller must read and decide
	// again.
	ErrConflict = errors.New("the bus has moved on")
	// ErrUnavailable means that the bus did not respond in time. The views of mirrors remain usable but become stale.
	ErrUnavailable = errors.New("the bus is unavailable")
)

// Bus is the interface of every adapter. Consumers declare the subset that they use.
type Bus interface {
	// List returns all entries below prefix at one revision, ordered by key.
	List(ctx context.Context, prefix string) ([]Entry, Revision, error)
	// Put writes a value with a lifetime. It returns ErrConflict if a guard fails.
	Put(ctx context.Context, key string, value []byte, lifetime Lifetime, guards ...Guard) (Revision, error)
	// Commit makes all writes atomically, at one revision. If a guard fails, it makes none and returns ErrConflict.
	// After any other error it is unknown whether the writes were made.
	Commit(ctx context.Context, writes []Write, guards ...Guard) (Revision, error)
	// Delete deletes a key. It returns ErrConflict if a guard fails. Deleting an absent key is not an error.
	Delete(ctx context.Context, key string, guards ...Guard) error
	// Watch watches the entries below prefix until ctx is done, and then closes the channel. The first batch has Reset
	// set and contains all entries. Another reset follows any gap, so a reader that applies all batches in order is
	// consistent. A batch with only Err means that the bus is unavailable. A slow reader gets fewer and larger batches:
	// of several changes to a key, it may see the last one only.
	Watch(ctx context.Context, prefix string) <-chan Batch
	// WatchChunked is Watch for readers that support Batch.More. A long list comes in chunks, so the reader never holds
	// the whole list in addition to its own data structures.
	WatchChunked(ctx context.Context, prefix string) <-chan Batch
}

// Revision is a version of the bus. Every write creates the next one.
type Revision int64

// Entry is a key with its value and the revision of its last write.
type Entry struct {
	Key      string
	Value    []byte
	Revision Revision
}

// Write is a write of one entry. Entries of one Commit that expire do so together.
type Write struct {
	Key      string
	Value    []byte
	Lifetime Lifetime
}

// Batch has the changes below a watched prefix between two revisions.
type Batch struct {
	// Reset means that Entries are all entries. The reader must drop all others.
	Reset bool
	// More means that the next batch continues this list. Until then the reader's state is not a consistent version of
	// the bus. Only WatchChunked sets it.
	More     bool
	Revision Revision
	Entries  []Entry
	Deleted  []string
	Err      error
}

// Lifetime determines when an entry is deleted.
type Lifetime struct {
	// Ephemeral binds the entry to the writing process. It is deleted when the process has been silent for the session
	// TTL.
	Ephemeral bool
	// TTL deletes the entry after a fixed time, rounded up to whole seconds and up to a thirtieth later; 0 means never.
	TTL time.Duration
}

// Common lifetimes.
var (
	// Persistent entries exist until they are deleted.
	Persistent = Lifetime{}
	// Ephemeral entries exist as long as their writer.
	Ephemeral = Lifetime{Ephemeral: true}
)

// Guard is a condition on the state of the bus at the time of a write. The functions below create guards.
type Guard struct {
	// Key is a key, or a prefix if Prefix is set.
	Key    string
	Prefix bool
	// AllowOlder permits entries that are older than Revision or absent. It is always set for a prefix.
	AllowOlder bool
	// Revision is the newest permitted revision. Without AllowOlder it is the exact one; 0 requires that the key is
	// absent.
	Revision Revision
}

// Absent requires that key does not exist.
func Absent(key string) Guard { return Guard{Key: key} }

// Unchanged requires that key was last written at revision.
func Unchanged(key string, revision Revision) Guard { return Guard{Key: key, Revision: revision} }

// NotNewer requires that key was not written after revision. A deletion does not violate it.
func NotNewer(key string, revision Revision) Guard {
	return Guard{Key: key, AllowOlder: true, Revision: revision}
}

// NoneNewer requires that no key below prefix was written after revision. A deletion does not violate it: it only frees
// room.
func NoneNewer(prefix string, revision Revision) Guard {
	return Guard{
		Key:        prefix,
		Prefix:     true,
		AllowOlder: true,
		Revision:   revision,
	}
}
