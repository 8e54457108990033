package api

import (
	"time"

	"github.com/trellis-gpu/trellis/growth/programs"
)

// Programs is the cluster's history of programs.
type Programs struct {
	Synced bool `json:"synced"`
	// Error is set while the bus is unavailable: the rest is the last known state.
	Error string `json:"error,omitempty"`
	// Bytes is the size of all records on the bus, also of those that a filter leaves out.
	Bytes int `json:"bytes"`
	// Programs are those that were used last first.
	Programs []Program `json:"programs"`
	// Model answers ?program=….
	Model *programs.Model `json:"model,omitempty"`
}

// Program is one program. Namespace is "_" for a model that the namespaces in Readers share.
type Program struct {
	Program   programs.ID `json:"program"`
	Namespace string      `json:"namespace"`
	Readers   []string    `json:"readers,omitempty"`
	Runs      int         `json:"runs"`
	Nodes     int         `json:"nodes"`
	Used      time.Time   `json:"used"`
	Bytes     int         `json:"bytes"`
	// Jobs are the running jobs of the program, as namespace/name.
	Jobs []string `json:"jobs,omitempty"`
	// Error is the reason why this build cannot read the record.
	Error string `json:"error,omitempty"`
}
