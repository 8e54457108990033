package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/deploy/local/internal/network"
	"github.com/trellis-gpu/trellis/deploy/local/internal/process"
)

// recordVersion changes when an older program could not clean up after the record.
const recordVersion = 1

const maxRecord = 1 << 20 // bytes; a real one has a few thousand

// Phase is a phase in the life of a cluster.
type Phase string

// The phases, in order.
const (
	Starting Phase = "starting"
	Up       Phase = "up"
	Stopping Phase = "stopping"
)

// Record lists the parts of a cluster.
type Record struct {
	Version     int                         `json:"version"`
	Phase       Phase                       `json:"phase"`
	Created     time.Time                   `json:"created"`
	Plan        network.Plan                `json:"plan"`
	CPUsPerNode int                         `json:"cpusPerNode"`
	NUMANodes   int                         `json:"numaNodes,omitempty"` // that each node shows
	Cores       map[string]string           `json:"cores"`               // node → its cores, as a cpuset list
	Stock       string                      `json:"stock"`               // the folder of the stock programs
	WithPID     *process.Identity           `json:"withPID,omitempty"`
	Supervisor  process.Identity            `json:"supervisor"`
	Processes   map[string]process.Identity `json:"processes"`
	Ended       map[string]string           `json:"ended,omitempty"`     // program → its unexpected end
	Restarted   map[string]int              `json:"restarted,omitempty"` // program → number of restarts on request
}

// Node returns a node of the plan.
func (r Record) Node(name string) (network.Node, bool) {
	i := slices.IndexFunc(r.Plan.Nodes, func(n network.Node) bool { return n.Name == name })
	if i < 0 {
		return network.Node{}, false
	}
	return r.Plan.Nodes[i], true
}

// ErrNone means that there is no such cluster.
var ErrNone = errors.New("no such cluster")

// Read reads the cluster's record.
func (f Folder) Read() (Record, error) {
	file, err := os.Open(f.Record())
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, ErrNone
	}
	if err != nil {
		return Record{}, err
	}
	defer file.Close()
	r, err := decode(io.LimitReader(file, maxRecord))
	if err != nil {
		return Record{}, fmt.Errorf("read %s: %w", f.Record(), err)
	}
	return r, nil
}

func decode(in io.Reader) (Record, error) {
	var r Record
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return Record{}, err
	}
	if r.Version != recordVersion {
		return Record{}, fmt.Errorf("record version %d, this program knows %d: take the cluster down with the program that started it", r.Version, recordVersion)
	}
	if err := network.ValidateName(r.Plan.Cluster); err != nil {
		return Record{}, err
	}
	return r, nil
}

// Write replaces the cluster's record; a reader sees the old or the new one.
func (f Folder) Write(r Record) error {
	r.Version = recordVersion
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return err
	}
	if err := os.MkdirAll(string(f), 0o755); err != nil {
		return err
	}
	next := f.Record() + ".next"
	if err := os.WriteFile(next, out.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(next, f.Record())
}

// Clusters lists the names of the clusters that have a folder.
func (r Root) Clusters() ([]string, error) {
	entries, err := os.ReadDir(string(r))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && network.ValidateName(filepath.Base(e.Name())) == nil {
			names = append(names, e.Name())
		}
	}
	return names, err
}
