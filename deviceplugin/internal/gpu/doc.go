// Package gpu is the inventory: which GPUs a node has, how much memory each, and whether it works.
//
// There are two sources. Package nvml below it asks the driver. Emulated invents GPUs that nothing stands behind, for
// machines without any; it must be chosen by name (--gpus=emulated:2x24GiB), and whatever speaks of such GPUs says so:
// their UUIDs start with EMU-, and the record on the bus, logs, metrics and the containers' environment carry the word.
//
// Stock keeps what a source last said. A source that fails, or a GPU that can not be read, never makes GPUs vanish:
// kubelet would fail the pods of a node that advertises nothing. Such a GPU stays in the list, unhealthy.
package gpu
