package growth

// NodeName is the name of a Kubernetes node.
type NodeName string

// PodUID identifies a job everywhere. A name does not: another pod may reuse it.
type PodUID string

// GPU is the UUID of a GPU as the driver prints it ("GPU-…", "MIG-…"), or the UUID of an emulated GPU. An index does
// not identify a GPU: it depends on the order in which the driver enumerates devices.
type GPU string

// PodRef is a reference to a pod: its name for display, its UID for identity.
type PodRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       PodUID `json:"uid"`
}

// String returns namespace/name.
func (p PodRef) String() string { return p.Namespace + "/" + p.Name }

// GPUShare is an amount of memory on one GPU.
type GPUShare struct {
	GPU    GPU `json:"gpu"`
	Memory MiB `json:"memoryMiB"`
}
