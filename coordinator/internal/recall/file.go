package recall

import (
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

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/resize"
)

const (
	// name is the file's, in the coordinator's own folder of the state folder.
	name = "memory.json"
	// version is the format's. A file of another one is not read.
	version = 1
	// most bounds the file, in bytes: a hundred times what a full node takes.
	most = 8 << 20
	// pace is the least time between two writes.
	pace = time.Second
)

// Memory is what is kept.
type Memory struct {
	Samples []bus.Sample
	Fair    fairfinish.State
	// Refusals are what was asked for jobs and can not be, for now.
	Refusals map[growth.PodUID]resize.Refusal
	// Ended are jobs by which those like them are foretold, the newest first.
	Ended []Run
}

// Run is what a job has shown, by which those like it are foretold.
type Run struct {
	// Job is its namespace and name, Runs what it runs and what it is judged by.
	Job   string            `json:"job"`
	Runs  string            `json:"runs"`
	Curve remaining.Curve   `json:"curve"`
	Whole remaining.Profile `json:"whole,omitzero"`
}

// written is the file. Samples are encoded as on the bus, with versions of their own.
type written struct {
	Version  int                              `json:"v"`
	Clock    clock                            `json:"clock,omitzero"`
	Samples  []json.RawMessage                `json:"samples"`
	Fair     fairfinish.State                 `json:"fair"`
	Refusals map[growth.PodUID]resize.Refusal `json:"refusals,omitempty"`
	Ended    []Run                            `json:"ended,omitempty"`
}

// File keeps one node's memory.
type File struct {
	path   string
	log    *slog.Logger
	newest chan Memory
}

// New keeps the memory in a folder of the coordinator's own, which is there.
func New(folder string, log *slog.Logger) *File {
	return &File{path: filepath.Join(folder, name), log: log, newest: make(chan Memory, 1)}
}

// Read returns what was kept; nothing if nothing was. Samples that this build does not know are left out.
func (f *File) Read() (Memory, error) {
	var m Memory
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("recalling what was known: %w", err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return m, fmt.Errorf("recalling what was known: %w", err)
	}
	var w written
	if err := json.Unmarshal(content, &w); err != nil {
		return m, fmt.Errorf("recalling what was known, from %s: %w", f.path, err)
	}
	if w.Version != version {
		return m, fmt.Errorf("recalling what was known, from %s: version %d, this build knows %d", f.path, w.Version, version)
	}
	for _, value := range w.Samples {
		if s, err := bus.Decode[bus.Sample](value); err == nil {
			m.Samples = append(m.Samples, s)
		}
	}
	m.Fair, m.Refusals, m.Ended = w.Fair, w.Refusals, w.Ended
	m.Fair.At = w.Clock.translate(m.Fair.At, read())
	return m, nil
}

// Keep leaves a memory to be written, in place of one that is not yet. It never waits, and is for one caller at a time.
func (f *File) Keep(m Memory) {
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
				f.log.Warn("what is known can not be kept on this node", "reason", err)
			}
			failing = err != nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(pace):
		}
	}
}

func (f *File) write(m Memory) error {
	now := read()
	m.Fair.At = now.Set.Add(-now.Set.Sub(m.Fair.At)) // by the clock as it is set now, and not as it was then
	w := written{Version: version, Clock: now, Samples: make([]json.RawMessage, 0, len(m.Samples)), Fair: m.Fair, Refusals: m.Refusals, Ended: m.Ended}
	for _, s := range m.Samples {
		value, err := bus.Encode(s)
		if err != nil {
			return err
		}
		w.Samples = append(w.Samples, value)
	}
	content, err := json.Marshal(w)
	if err != nil {
		return err
	}
	if len(content) > most {
		return fmt.Errorf("%d bytes, at most %d", len(content), most)
	}
	beside := f.path + ".new"
	if err := os.WriteFile(beside, content, 0o600); err != nil {
		return err
	}
	return os.Rename(beside, f.path)
}
