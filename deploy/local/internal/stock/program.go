package stock

import (
	"slices"
	"strings"
	"time"
)

// Program is one upstream program.
type Program struct {
	Name    string
	Module  string // folder below deploy/local that pins it
	Package string
	LDFlags string
	Tags    string
	Cold    time.Duration // duration of a first build on two cores, for estimates
}

const (
	kubernetesVersion = "v1.36.4"
	versionPackage    = "k8s.io/component-base/version"
	// Kubernetes' own build stamps its version; without it, kubelet would report v0.0.0.
	kubernetesFlags = "-s -w -X " + versionPackage + ".gitVersion=" + kubernetesVersion +
		" -X " + versionPackage + ".gitMajor=1 -X " + versionPackage + ".gitMinor=36"
	containerdTags = "no_btrfs no_devmapper no_zfs"
	registryModule = "stock/registry"
	kueueModule    = "stock/kueue"
	// kueueVersion is the release of Kueue that stock/kueue pins.
	kueueVersion = "v0.17.0"
	vpaModule    = "stock/vpa"
	jobSetModule = "stock/jobset"
	// jobSetVersion is the release of JobSet that stock/jobset pins.
	jobSetVersion    = "v0.11.1"
	pyTorchJobModule = "stock/pytorchjob"
	// pyTorchJobVersion is the release of Kubeflow's training operator that stock/pytorchjob pins.
	pyTorchJobVersion = "v1.9.3"
)

func kubernetes(name string, cold time.Duration) Program {
	return Program{Name: name, Module: "stock/kubernetes", Package: "k8s.io/kubernetes/cmd/" + name, LDFlags: kubernetesFlags, Cold: cold}
}

func containerd(name string, cold time.Duration) Program {
	return Program{Name: name, Module: "stock/containerd", Package: "github.com/containerd/containerd/v2/cmd/" + name,
		LDFlags: "-s -w", Tags: containerdTags, Cold: cold}
}

// ControlPlane are the programs of a control plane, and kubectl.
func ControlPlane() []Program {
	return []Program{
		{Name: "etcd", Module: "stock/etcd", Package: "go.etcd.io/etcd/server/v3", LDFlags: "-s -w", Cold: 40 * time.Second},
		kubernetes("kube-apiserver", 183*time.Second),
		kubernetes("kube-controller-manager", 53*time.Second),
		kubernetes("kube-scheduler", 5*time.Second),
		kubernetes("kubectl", 20*time.Second),
	}
}

// Node are the programs of a node; pause is the project's own.
func Node() []Program {
	return []Program{
		kubernetes("kubelet", 16*time.Second),
		kubernetes("kube-proxy", 6*time.Second),
		containerd("containerd", 45*time.Second),
		containerd("containerd-shim-runc-v2", 2*time.Second),
		containerd("ctr", 2*time.Second),
		{Name: "pause", Module: ".", Package: "./internal/pause", LDFlags: "-s -w", Cold: time.Second},
	}
}

// All are the programs of a whole cluster.
func All() []Program { return slices.Concat(ControlPlane(), Node()) }

// Registry is the container registry that tests push to. It has a cache folder of its own, and no cluster needs it.
func Registry() []Program {
	return []Program{{Name: "registry", Module: registryModule, Package: "github.com/distribution/distribution/v3/cmd/registry",
		LDFlags: "-s -w", Cold: 75 * time.Second}}
}

// Kueue is the job queue that a test installs in front of Trellis. It has a cache folder of its own, and no cluster needs it.
func Kueue() []Program {
	return []Program{{Name: "kueue", Module: kueueModule, Package: "sigs.k8s.io/kueue/cmd/kueue",
		LDFlags: "-s -w -X sigs.k8s.io/kueue/pkg/version.GitVersion=" + kueueVersion, Cold: 184 * time.Second}}
}

// VPA is the updater of the Vertical Pod Autoscaler, which a test runs next to Trellis. It has a cache folder of its own, and
// no cluster needs it.
func VPA() []Program {
	return []Program{{Name: "vpa-updater", Module: vpaModule, Package: "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater",
		LDFlags: "-s -w", Cold: 142 * time.Second}}
}

// JobSet is the controller of JobSets, whose pods a test moves. It has a cache folder of its own, and no cluster needs it.
func JobSet() []Program {
	return []Program{{Name: "jobset", Module: jobSetModule, Package: "sigs.k8s.io/jobset", LDFlags: "-s -w", Cold: 240 * time.Second}}
}

// PyTorchJob is Kubeflow's training operator, whose PyTorchJob a test moves. It has a cache folder of its own, and no cluster needs it.
func PyTorchJob() []Program {
	return []Program{{Name: "pytorchjob", Module: pyTorchJobModule, Package: "github.com/kubeflow/training-operator/cmd/training-operator.v1",
		LDFlags: "-s -w", Cold: 240 * time.Second}}
}

// release returns the programs that share a cache folder with the given ones, and the folder's prefix.
func release(programs []Program) (prefix string, all []Program) {
	module := ""
	if len(programs) > 0 {
		module = programs[0].Module
	}
	switch {
	case module == registryModule:
		return "registry", Registry()
	case module == kueueModule:
		return "kueue-" + kueueVersion, Kueue()
	case module == vpaModule:
		return "vpa", VPA()
	case module == jobSetModule:
		return "jobset-" + jobSetVersion, JobSet()
	case module == pyTorchJobModule:
		return "pytorchjob-" + pyTorchJobVersion, PyTorchJob()
	case strings.HasPrefix(module, olderModule):
		return "older", Older()
	default:
		return kubernetesVersion, All()
	}
}
