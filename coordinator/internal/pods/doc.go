// Package pods reads what the coordinator needs to know out of a pod: whose it is, what runs, what CPU it was made
// with, and whether that may be changed while it runs.
//
// Only CPU requests of ordinary containers are ever changed, and only where that can not change the pod's QoS class
// or restart a container. The requests that a pod was made with are kept in an annotation before the first change,
// since the change overwrites them: "<container>=<quantity>", comma-separated.
package pods
