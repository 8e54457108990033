package recall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/node"
)

const (
	// name is the name of the file, in the coordinator's private folder.
	name = "memory.json"
	// version is the version of the format. Version 1, of the previous release, is read too (legacy.go).
	version = 2
	// maxSize bounds the file, in bytes: a hundred times the size for a full node.
	maxSize = 8 << 20
	// writePeriod is the minimum time between two writes.
	writePeriod = time.Second
)

// written is the content of the file. Samples are encoded as on the bus, with versions of their own.
type written struct {
	header
	Samples []json.RawMessage `json:"samples"`
	State   json.RawMessage   `json:"state,omitempty"`
	legacy
}

type header struct {
	Version int       `json:"v"`
	Clock   clock     `json:"clock,omitzero"`
	At      time.Time `json:"at,omitzero"`
}

// File holds the memory of one node.
type File struct {
	path   string
	log    *slog.Logger
	newest chan node.Memory
}

// New returns the file in the coordinator's private folder, which must exist.
func New(folder string, log *slog.Logger) *File {
	return &File{path: filepath.Join(folder, name), log: log, newest: make(chan node.Memory, 1)}
}

// Read returns the memory that was saved, or an empty one if there is none. Samples of versions that this build does
// not know are left out.
func (f *File) Read() (node.Memory, error) {
	var m node.Memory
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("recalling what was known: %w", err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxSize))
	if err != nil {
		return m, fmt.Errorf("recalling what was known: %w", err)
	}
	var w written
	if err := json.Unmarshal(content, &w); err != nil {
		return m, fmt.Errorf("recalling what was known, from %s: %w", f.path, err)
	}
	switch w.Version {
	case version:
	case legacyVersion:
		if err := w.upgrade(); err != nil {
			return m, fmt.Errorf("recalling what was known, from %s: %w", f.path, err)
		}
	default:
		return m, fmt.Errorf("recalling what was known, from %s: version %d, this build knows %d", f.path, w.Version, version)
	}
	for _, value := range w.Samples {
		if s, err := bus.Decode[bus.Sample](value); err == nil {
			m.Samples = append(m.Samples, s)
		}
	}
	m.State = w.State
	m.At = w.Clock.translate(w.At, read())
	return m, nil
}

// Save passes a memory to Run. It replaces one that is not written yet. Save never blocks, and must not be called
// concurrently.
func (f *File) Save(m node.Memory) {
	select {
	case <-f.newest:
	default:
	}
	f.newest <- m
}

// Run writes until ctx ends, and then once more if there is something new.
func (f *File) Run(ctx context.Context) error {
	failing := false
	for {
		select {
		case <-ctx.Done():
			select {
			case m := <-f.newest:
				return f.write(m)
			default:
				return nil
			}
		case m := <-f.newest:
			err := f.write(m)
			if err != nil && !failing {
				f.log.Warn("the memory cannot be saved on this node", "err", err)
			}
			failing = err != nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(writePeriod):
		}
	}
}

// encode returns the content of the file. It writes the arrays itself: json.Marshal would scan each encoded sample again, at
// half the cost of the whole.
func encode(m node.Memory) ([]byte, error) {
	now := read()
	at := now.Set.Add(-now.Set.Sub(m.At)) // by the current wall clock, which may have been set since
	content, err := json.Marshal(header{Version: version, Clock: now, At: at})
	if err != nil {
		return nil, err
	}
	content = append(bytes.TrimSuffix(content, []byte("}")), `,"samples":[`...)
	for i, s := range m.Samples {
		value, err := bus.Encode(s)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			content = append(content, ',')
		}
		content = append(content, value...)
	}
	content = append(content, ']')
	if m.State != nil {
		content = append(append(content, `,"state":`...), m.State...)
	}
	return append(content, '}'), nil
}

func (f *File) write(m node.Memory) error {
	content, err := encode(m)
	if err != nil {
		return err
	}
	if len(content) > maxSize {
		return fmt.Errorf("%d bytes, at most %d", len(content), maxSize)
	}
	temporary := f.path + ".new"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, f.path)
}
