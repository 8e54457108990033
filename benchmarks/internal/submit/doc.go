// Package submit submits the jobs of a workload to a Kubernetes cluster at their times of arrival.
//
// A Submission creates the namespace if it is missing, the ConfigMap with the jobs' programs, and a pod for each job. Pods have the
// label training.RunLabel, so that they can be listed and deleted together. Nothing is deleted here. Errors of the API
// server that may pass are retried; a pod that the server refuses does not stop the others.
package submit
