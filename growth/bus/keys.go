package bus

import (
	"fmt"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/programs"
)

// Prefix is the prefix of every key: the product and the version of this schema.
const Prefix = "/trellis/v1/"

// Kind is the kind of record that a key holds.
type Kind string

// All kinds.
const (
	KindGPUs        Kind = "gpus"
	KindAllocation  Kind = "allocations"
	KindReservation Kind = "reservations"
	KindEpoch       Kind = "epochs"
	KindLoad        Kind = "load"
	KindSpeeds      Kind = "speeds"
	KindSample      Kind = "sample"
	KindAdvice      Kind = "advice"
	KindOrigin      Kind = "origin"
	KindModel       Kind = "models"
	KindMove        Kind = "moves"
	KindMoved       Kind = "moved"
	KindRefusal     Kind = "refusals"
	KindWidth       Kind = "widths"
	KindGang        Kind = "gangs"
	// KindRuns is a node's runs of a program, KindProgram what is known of it from all nodes.
	KindRuns    Kind = "runs"
	KindProgram Kind = "models/programs"
)

// Key is a parsed key. Its kind determines which fields are set.
type Key struct {
	Kind Kind
	Node growth.NodeName
	Pod  growth.PodUID
	GPU  growth.GPU
	Name string
	// Program is the ID of a program, which names its namespace.
	Program programs.ID
}

// Prefixes to list and watch.
const (
	Nodes    = Prefix + "nodes/"
	Jobs     = Prefix + "jobs/"
	Models   = Prefix + "models/"
	Moves    = Prefix + "moves/"
	Moved    = Prefix + "moved/"
	Refusals = Prefix + "refusals/"
	Widths   = Prefix + "widths/"
	Gangs    = Prefix + "gangs/"
	Runs     = Prefix + "runs/"
	Programs = Models + "programs/"
)

// NodePrefix returns the prefix of all keys of a node.
func NodePrefix(node growth.NodeName) string { return Nodes + string(node) + "/" }

// AllocationsPrefix returns the prefix of a node's allocations.
func AllocationsPrefix(node growth.NodeName) string {
	return NodePrefix(node) + string(KindAllocation) + "/"
}

// ReservationsPrefix returns the prefix of a node's reservations.
func ReservationsPrefix(node growth.NodeName) string {
	return NodePrefix(node) + string(KindReservation) + "/"
}

// GPUsKey returns the key of a node's GPUs.
func GPUsKey(node growth.NodeName) string { return NodePrefix(node) + string(KindGPUs) }

// LoadKey returns the key of a node's load.
func LoadKey(node growth.NodeName) string { return NodePrefix(node) + string(KindLoad) }

// SpeedsKey returns the key of the speeds that were measured on a node.
func SpeedsKey(node growth.NodeName) string { return NodePrefix(node) + string(KindSpeeds) }

// AllocationKey returns the key of a pod's allocation.
func AllocationKey(node growth.NodeName, pod growth.PodUID) string {
	return AllocationsPrefix(node) + string(pod)
}

// ReservationKey returns the key of a pod's reservation.
func ReservationKey(node growth.NodeName, pod growth.PodUID) string {
	return ReservationsPrefix(node) + string(pod)
}

// EpochKey returns the key of a GPU's epoch.
func EpochKey(node growth.NodeName, gpu growth.GPU) string {
	return NodePrefix(node) + string(KindEpoch) + "/" + string(gpu)
}

// SampleKey returns the key of a job's latest sample.
func SampleKey(pod growth.PodUID) string { return Jobs + string(pod) + "/" + string(KindSample) }

// AdviceKey returns the key of the tuner's advice for a job.
func AdviceKey(pod growth.PodUID) string { return Jobs + string(pod) + "/" + string(KindAdvice) }

// OriginKey returns the key of what was known about a job before it moved. pod is the one that continues the job.
func OriginKey(pod growth.PodUID) string { return Jobs + string(pod) + "/" + string(KindOrigin) }

// ModelKey returns the key of a learned model.
func ModelKey(name string) string { return Models + name }

// MoveKey returns the key of a pod's move.
func MoveKey(pod growth.PodUID) string { return Moves + string(pod) }

// MovedKey returns the key of the past moves of a job: see move.Identity.Job.
func MovedKey(job string) string { return Moved + job }

// RefusalKey returns the key of a rejected pod that awaits recreation.
func RefusalKey(pod growth.PodUID) string { return Refusals + string(pod) }

// WidthKey returns the key of the last change of a job's number of workers. A job is its owner here, by its UID.
func WidthKey(owner growth.PodUID) string { return Widths + string(owner) }

// GangKey returns the key of what a node says about its ranks of a job on several nodes. gang is Sample.Gang.
func GangKey(gang string, node growth.NodeName) string { return Gangs + gang + "/" + string(node) }

// RunsKey returns the key of a node's runs of a program. It is not below the node's prefix: only the tuner reads these
// records, and others watch all nodes.
func RunsKey(node growth.NodeName, program programs.ID) string {
	return Runs + string(node) + "/" + program.String()
}

// ProgramKey returns the key of the model of a program.
func ProgramKey(program programs.ID) string { return Programs + program.String() }

// ParseKey parses a key. It accepts exactly the keys that the functions above build from valid names.
func ParseKey(key string) (Key, error) {
	rest, ok := strings.CutPrefix(key, Prefix)
	if !ok {
		return Key{}, fmt.Errorf("key %.100q is not below %s", key, Prefix)
	}
	parts := strings.Split(rest, "/")
	for _, part := range parts {
		if !validName(part) {
			return Key{}, fmt.Errorf("key %.100q: %.60q is not a valid name", key, part)
		}
	}
	parsed := parsedKey(parts)
	// A key is valid if building it from its parts yields the same key.
	if parsed.String() != key {
		return Key{}, fmt.Errorf("key %.100q is not part of this schema", key)
	}
	return parsed, nil
}

// parsedKey returns the key with some parts; any key if none has them.
func parsedKey(parts []string) Key {
	switch len(parts) {
	case 2:
		return keyOfTwo(Kind(parts[0]), parts[1])
	case 3:
		return keyOfThree(parts[0], parts[1], parts[2])
	case 4: // only those of nodes
		key := Key{Kind: Kind(parts[2]), Node: growth.NodeName(parts[1])}
		if key.Kind == KindEpoch {
			key.GPU = growth.GPU(parts[3])
		} else {
			key.Pod = growth.PodUID(parts[3])
		}
		return key
	}
	return Key{}
}

func keyOfTwo(kind Kind, name string) Key {
	switch kind {
	case KindMove, KindRefusal, KindWidth:
		return Key{Kind: kind, Pod: growth.PodUID(name)}
	}
	return Key{Kind: kind, Name: name}
}

func keyOfThree(first, second, third string) Key {
	switch {
	case first == "nodes":
		return Key{Kind: Kind(third), Node: growth.NodeName(second)}
	case first == "jobs":
		return Key{Kind: Kind(third), Pod: growth.PodUID(second)}
	case first == string(KindGang):
		return Key{Kind: KindGang, Name: second, Node: growth.NodeName(third)}
	case first == string(KindRuns):
		return programKey(KindRuns, growth.NodeName(second), third)
	case first+"/"+second == string(KindProgram):
		return programKey(KindProgram, "", third)
	}
	return Key{}
}

// programKey parses a key that ends with a program. An invalid program gives the zero ID, of which no key is built.
func programKey(kind Kind, node growth.NodeName, program string) Key {
	id, _ := programs.ParseID(program)
	return Key{Kind: kind, Node: node, Program: id}
}

// String builds the key from its parts.
func (k Key) String() string {
	switch k.Kind {
	case KindGPUs:
		return GPUsKey(k.Node)
	case KindLoad:
		return LoadKey(k.Node)
	case KindSpeeds:
		return SpeedsKey(k.Node)
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
	case KindOrigin:
		return OriginKey(k.Pod)
	case KindModel, KindMoved:
		return Prefix + string(k.Kind) + "/" + k.Name
	case KindMove, KindRefusal, KindWidth:
		return Prefix + string(k.Kind) + "/" + string(k.Pod)
	case KindGang:
		return GangKey(k.Name, k.Node)
	case KindRuns:
		return RunsKey(k.Node, k.Program)
	case KindProgram:
		return ProgramKey(k.Program)
	}
	return Prefix
}

// ValidName reports whether a name can be part of a key.
func ValidName[Name ~string](name Name) bool { return validName(string(name)) }

// validName accepts node names (RFC 1123), pod UIDs (RFC 4122 and the API server's other forms), UUIDs of GPUs, and
// names of models.
func validName(part string) bool {
	if part == "" || len(part) > 253 {
		return false
	}
	return strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:") == ""
}
