package shim

import "encoding/json"

// CheckpointFile is the name of the file in which a container has the Checkpoint of its job, next to the sockets.
const CheckpointFile = "checkpoint.json"

// Checkpoint is what a job has saved for the move that has brought it here. gpushare.resume() compares what it finds with it.
type Checkpoint struct {
	// Version is that of the protocol.
	Version int `json:"v"`
	// Path is that in the container, or a URL.
	Path   string `json:"path"`
	Step   int64  `json:"step"`
	SHA256 string `json:"sha256"`
}

// Encode returns the content of the file.
func (c Checkpoint) Encode() ([]byte, error) {
	content, err := json.Marshal(c)
	return append(content, '\n'), err
}
