package aliyun

import (
	"strconv"
	"time"
)

const (
	// Resource is the extended resource of a pod's GPU memory.
	Resource = "aliyun.com/gpu-mem"

	// indexAnnotation numbers the GPU that the pod is on.
	indexAnnotation = "ALIYUN_COM_GPU_MEM_IDX"
	// podAnnotation is what the pod holds, deviceAnnotation what its GPU has, both in units.
	podAnnotation    = "ALIYUN_COM_GPU_MEM_POD"
	deviceAnnotation = "ALIYUN_COM_GPU_MEM_DEV"
	// assumedAnnotation is when the place was chosen, in nanoseconds since 1970.
	assumedAnnotation = "ALIYUN_COM_GPU_MEM_ASSUME_TIME"
	// assignedAnnotation is "true" once nobody has to choose any more.
	assignedAnnotation = "ALIYUN_COM_GPU_MEM_ASSIGNED"
)

// mostGPUs bounds a GPU's number: no node has as many.
const mostGPUs = 1024

// Assignment is a pod's place.
type Assignment struct {
	// Index is the number of its GPU, from 0.
	Index int
	// Units is what the pod holds, GPUUnits what its GPU has.
	Units, GPUUnits int
	// Assumed is when that was decided.
	Assumed time.Time
}

// Annotations are what a placed pod bears. There ASSIGNED was "false" until the device plugin had matched the pod to a call
// of kubelet's, and had written once more. Here ids name their GPU and nothing is matched: one write says it all, and a
// device plugin of old that is started again by mistake does not take the pod for one of its own.
func (p Assignment) Annotations() map[string]string {
	return map[string]string{
		indexAnnotation:    strconv.Itoa(p.Index),
		podAnnotation:      strconv.Itoa(p.Units),
		deviceAnnotation:   strconv.Itoa(p.GPUUnits),
		assumedAnnotation:  strconv.FormatInt(p.Assumed.UnixNano(), 10),
		assignedAnnotation: "true",
	}
}

// Index reads the number of the GPU that a pod was placed on, false where its annotations name none.
func Index(annotations map[string]string) (int, bool) {
	n, err := strconv.Atoi(annotations[indexAnnotation])
	return n, err == nil && n >= 0 && n < mostGPUs
}
