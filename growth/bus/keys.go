package bus

import (
	"fmt"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
)

// Prefix is what every key starts with: the product and the version of this schema.
const Prefix = "/trellis/v1/"

// Kind is what a key holds.
type Kind string

// The kinds of keys there are.
const (
	KindGPUs        Kind = "gpus"
	KindAllocation  Kind = "allocations"
	KindReservation Kind = "reservations"
	KindEpoch       Kind = "epochs"
	KindLoad        Kind = "load"
	KindSample      Kind = "sample"
	KindAdvice      Kind = "advice"
	KindModel       Kind = "models"
	KindMove        Kind = "moves"
	KindRefusal     Kind = "refusals"
)

// Key is a key, taken apart. Which fields are set depends on the kind.
type Key struct {
	Kind Kind
	Node growth.NodeName
	Pod  growth.PodUID
	GPU  growth.GPU
	Name string
}

// Prefixes to list and watch.
const (
	Nodes    = Prefix + "nodes/"
	Jobs     = Prefix + "jobs/"
	Models   = Prefix + "models/"
	Moves    = Prefix + "moves/"
	Refusals = Prefix + "refusals/"
)

// NodePrefix is the prefix of all that is known about one node.
func NodePrefix(node growth.NodeName) string { return Nodes + string(node) + "/" }

// AllocationsPrefix is the prefix of one node's allocations.
func AllocationsPrefix(node growth.NodeName) string {
	return NodePrefix(node) + string(KindAllocation) + "/"
}

// ReservationsPrefix is the prefix of one node's reservations.
func ReservationsPrefix(node growth.NodeName) string {
	return NodePrefix(node) + string(KindReservation) + "/"
}

// GPUsKey holds a node's GPUs.
func GPUsKey(node growth.NodeName) string { return NodePrefix(node) + string(KindGPUs) }

// LoadKey holds a node's load.
func LoadKey(node growth.NodeName) string { return NodePrefix(node) + string(KindLoad) }

// AllocationKey holds what kubelet gave a pod.
func AllocationKey(node growth.NodeName, pod growth.PodUID) string {
	return AllocationsPrefix(node) + string(pod)
}

// ReservationKey holds what the extender planned for a pod.
func ReservationKey(node growth.NodeName, pod growth.PodUID) string {
	return ReservationsPrefix(node) + string(pod)
}

// EpochKey holds a GPU's epoch.
func EpochKey(node growth.NodeName, gpu growth.GPU) string {
	return NodePrefix(node) + string(KindEpoch) + "/" + string(gpu)
}

// SampleKey holds a job's latest observation.
func SampleKey(pod growth.PodUID) string { return Jobs + string(pod) + "/" + string(KindSample) }

// AdviceKey holds the tuner's advice for a job.
func AdviceKey(pod growth.PodUID) string { return Jobs + string(pod) + "/" + string(KindAdvice) }

// ModelKey holds a learned model.
func ModelKey(name string) string { return Models + name }

// MoveKey holds the state of a move.
func MoveKey(pod growth.PodUID) string { return Moves + string(pod) }

// RefusalKey holds a pod that kubelet refused, until it is submitted again.
func RefusalKey(pod growth.PodUID) string { return Refusals + string(pod) }

// ParseKey takes a key apart. It accepts exactly what the functions above build from well-formed names.
func ParseKey(key string) (Key, error) {
	rest, ok := strings.CutPrefix(key, Prefix)
	if !ok {
		return Key{}, fmt.Errorf("key %.100q is not below %s", key, Prefix)
	}
	parts := strings.Split(rest, "/")
	for _, part := range parts {
		if !validName(part) {
			return Key{}, fmt.Errorf("key %.100q: %.60q is no name", key, part)
		}
	}
	parsed := Key{}
	switch {
	case parts[0] == "nodes" && len(parts) > 2:
		parsed = nodeKey(parts[1:])
	case parts[0] == "jobs" && len(parts) == 3:
		parsed = Key{Kind: Kind(parts[2]), Pod: growth.PodUID(parts[1])}
	case parts[0] == string(KindModel) && len(parts) == 2:
		parsed = Key{Kind: KindModel, Name: parts[1]}
	case parts[0] == string(KindMove) && len(parts) == 2:
		parsed = Key{Kind: KindMove, Pod: growth.PodUID(parts[1])}
	case parts[0] == string(KindRefusal) && len(parts) == 2:
		parsed = Key{Kind: KindRefusal, Pod: growth.PodUID(parts[1])}
	}
	// Building it again is the check: only what this schema would build is its own.
	if parsed.String() != key {
		return Key{}, fmt.Errorf("key %.100q is none of this schema", key)
	}
	return parsed, nil
}

// nodeKey reads what follows nodes/.
func nodeKey(parts []string) Key {
	key := Key{Kind: Kind(parts[1]), Node: growth.NodeName(parts[0])}
	switch {
	case len(parts) != 3:
	case key.Kind == KindEpoch:
		key.GPU = growth.GPU(parts[2])
	default:
		key.Pod = growth.PodUID(parts[2])
	}
	return key
}

// String builds the key again.
func (k Key) String() string {
	switch k.Kind {
	case KindGPUs:
		return GPUsKey(k.Node)
	case KindLoad:
		return LoadKey(k.Node)
	case KindAllocation:
		return AllocationKey(k.Node, k.Pod)
	case KindReservation:
		return ReservationKey(k.Node, k.Pod)
	case KindEpoch:
		return EpochKey(k.Node, k.GPU)
	case KindSample:
		return SampleKey(k.Pod)
	case KindAdvice:
		return AdviceKey(k.Pod)
	case KindModel:
		return ModelKey(k.Name)
	case KindMove:
		return MoveKey(k.Pod)
	case KindRefusal:
		return RefusalKey(k.Pod)
	}
	return Prefix
}

// ValidName tells whether a name can be part of a key.
func ValidName[Name ~string](name Name) bool { return validName(string(name)) }

// wellFormed accepts node names (RFC 1123), UIDs (RFC 4122, and the API server's other forms), the UUIDs of
// GPUs and model names.
func validName(part string) bool {
	if part == "" || len(part) > 253 {
		return false
	}
	return strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:") == ""
}
