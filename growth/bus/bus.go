package bus

import (
	"context"
	"errors"
	"time"
)

var (
	// ErrConflict means that a guard failed: the state has changed since it was read. Read it again and decide again.
	ErrConflict = errors.New("the bus has moved on")
	// ErrUnavailable means that the bus could not be reached in time. The state held in mirrors stays valid but ages.
	ErrUnavailable = errors.New("the bus is unavailable")
)

// Bus is what every adapter offers. Consumers declare the part they use.
type Bus interface {
	// List returns all entries below prefix at one revision, ordered by key.
	List(ctx context.Context, prefix string) ([]Entry, Revision, error)
	// Put writes value, for as long as life says, if all guards hold at that instant; else ErrConflict.
	Put(ctx context.Context, key string, value []byte, life Lifetime, guards ...Guard) (Revision, error)
	// Commit makes all writes at one instant, and so at one revision, if all guards hold then; else it makes none of
	// them and returns ErrConflict. An error other than ErrConflict leaves open whether they were made.
	Commit(ctx context.Context, writes []Write, guards ...Guard) (Revision, error)
	// Delete removes key if all guards hold at that instant; else ErrConflict. An absent key is no error.
	Delete(ctx context.Context, key string, guards ...Guard) error
	// Watch follows the entries below prefix until ctx ends, then closes the channel. The first batch with Reset set
	// holds all of them; another one follows any gap, so a reader that applies batches in order is never wrong. A
	// batch with only Err says that the bus can not be reached just now. A reader that is slow gets fewer and larger batches:
	// of several changes to one key it may see the last alone.
	Watch(ctx context.Context, prefix string) <-chan Batch
	// WatchChunked is Watch for readers that understand Batch.More: a long list comes in parts, so that nobody ever holds all
	// of it beside what is made of it.
	WatchChunked(ctx context.Context, prefix string) <-chan Batch
}

// Revision numbers the states of the bus; every write makes the next one.
type Revision int64

// Entry is a key with its value and the revision that wrote it.
type Entry struct {
	Key      string
	Value    []byte
	Revision Revision
}

// Write is one entry to be written. Entries of one Commit that end by themselves end together.
type Write struct {
	Key      string
	Value    []byte
	Lifetime Lifetime
}

// Batch is what changed below a watched prefix between two revisions.
type Batch struct {
	// Reset says that Entries are all there is: whatever else the reader holds is gone.
	Reset bool
	// More says that this is a part of such a list and that the next batch goes on with it: what the reader has until then
	// is no instant of the bus. Only readers that ask for it are told so.
	More     bool
	Revision Revision
	Entries  []Entry
	Deleted  []string
	Err      error
}

// Lifetime says how long an entry stays.
type Lifetime struct {
	// Ephemeral ties the entry to the writing process: gone when it has been silent for the bus's session TTL.
	Ephemeral bool
	// TTL removes the entry after a fixed time, or up to a thirtieth of it later, rounded up to whole seconds. Zero means that
	// it does not.
	TTL time.Duration
}

// The lives most entries have.
var (
	// Persistent entries stay until deleted.
	Persistent = Lifetime{}
	// WhileAlive entries live as long as their writer.
	Ephemeral = Lifetime{Ephemeral: true}
)

// Guard is a condition on the state of the bus at the instant of a write. The functions below make them.
type Guard struct {
	// Key is a whole key, or a prefix where Below is set.
	Key    string
	Prefix bool
	// AllowOlder lets what is guarded be older than Revision, or absent. A prefix is always guarded so.
	AllowOlder bool
	// Revision is the newest the guarded entries may have. Zero without Older: the key must be absent.
	Revision Revision
}

// Absent holds when key does not exist.
func Absent(key string) Guard { return Guard{Key: key} }

// Unchanged holds when key was last written by revision.
func Unchanged(key string, revision Revision) Guard { return Guard{Key: key, Revision: revision} }

// NotNewer holds when key was not written after revision. Its deletion does not break it.
func NotNewer(key string, revision Revision) Guard {
	return Guard{Key: key, AllowOlder: true, Revision: revision}
}

// NoneNewer holds when nothing below prefix was written after revision. Deletions do not break it: they only make
// room.
func NoneNewer(prefix string, revision Revision) Guard {
	return Guard{Key: prefix, Prefix: true, AllowOlder: true, Revision: revision}
}
