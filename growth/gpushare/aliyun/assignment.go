package aliyun

import (
	"strconv"
	"time"
)

const (
	// Resource is the extended resource of GPU memory.
	Resource = "aliyun.com/gpu-mem"

	// indexAnnotation is the index of the pod's GPU.
	indexAnnotation = "ALIYUN_COM_GPU_MEM_IDX"
	// podAnnotation is the memory of the pod, deviceAnnotation the memory of its GPU, both in units.
	podAnnotation    = "ALIYUN_COM_GPU_MEM_POD"
	deviceAnnotation = "ALIYUN_COM_GPU_MEM_DEV"
	// assumedAnnotation is the time of the placement, in nanoseconds since 1970.
	assumedAnnotation = "ALIYUN_COM_GPU_MEM_ASSUME_TIME"
	// assignedAnnotation is "true" once the placement is final.
	assignedAnnotation = "ALIYUN_COM_GPU_MEM_ASSIGNED"
)

// maxGPUs is an upper bound on the number of GPUs of a node.
const maxGPUs = 1024

// Assignment is the placement of a pod.
type Assignment struct {
	// Index is the index of the GPU, from 0.
	Index int
	// Units is the memory of the pod, GPUUnits the memory of its GPU, both in units.
	Units, GPUUnits int
	// Assumed is the time of the placement.
	Assumed time.Time
}

// Annotations returns the annotations of the placed pod. The Aliyun device plugin sets ASSIGNED to "false" first, and
// to "true" after it has matched the pod to an Allocate call. Trellis matches nothing, because device IDs contain the
// GPU. It sets "true" at once. An Aliyun device plugin that is started by mistake then ignores the pod.
func (a Assignment) Annotations() map[string]string {
	return map[string]string{
		indexAnnotation:    strconv.Itoa(a.Index),
		podAnnotation:      strconv.Itoa(a.Units),
		deviceAnnotation:   strconv.Itoa(a.GPUUnits),
		assumedAnnotation:  strconv.FormatInt(a.Assumed.UnixNano(), 10),
		assignedAnnotation: "true",
	}
}

// Index returns the index of a pod's GPU, and false if its annotations contain no valid one.
func Index(annotations map[string]string) (int, bool) {
	n, err := strconv.Atoi(annotations[indexAnnotation])
	return n, err == nil && n >= 0 && n < maxGPUs
}
