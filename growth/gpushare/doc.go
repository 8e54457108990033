// Package gpushare is the user's contract: the annotations that ask for a share of a GPU, what each may say, and the
// sentence a user gets for one that says something else.
//
// Every binary reads a pod's wishes through Parse, so that there is one meaning of each annotation. The admission
// policies under deploy/ refuse the same nonsense earlier, in CEL; a pod that comes round them (made before they were
// installed) is refused here.
package gpushare
