// Package request reads from a pod what decisions need to know about it: what it asks for, where it is, and what is
// wrong with its wishes. Everything else of the pod is dropped here, which keeps a cluster of many pods small in memory.
package request
