package growth

// NodeName is the name of a Kubernetes node.
type NodeName string

// PodUID is what identifies a job everywhere. Names are for people: a pod of the same name is another job.
type PodUID string

// GPU is the UUID of a GPU as the driver prints it ("GPU-…", "MIG-…"), or of an emulated one. An index is never an
// identity: it changes with the order in which a driver finds its devices.
type GPU string

// PodRef names a pod for people and identifies it by its UID.
type PodRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       PodUID `json:"uid"`
}

// String returns namespace/name, as Kubernetes prints objects.
func (p PodRef) String() string { return p.Namespace + "/" + p.Name }

// GPUShare is memory on one GPU.
type GPUShare struct {
	GPU    GPU `json:"gpu"`
	Memory MiB `json:"memoryMiB"`
}
