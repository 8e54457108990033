// Package rightsize decides the memory request of a running job, from what package peaks recommends.
//
// A request is what the scheduler sets aside for a job. It is changed in place and only if that is safe and worth it:
//
//   - It stays at least a tenth above the largest use so far, or at the limit if that is lower.
//   - It stays below the memory limit, which is never changed. Requests that equal limits change the QoS class.
//   - A container without a request, or whose request equals its limit, is left alone.
//   - A change is made only if it is noticeable, after enough observations, and not often (Schedule).
//
// A refused change is tried again after a time that doubles with each refusal.
package rightsize
