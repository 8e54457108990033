// Package policy names the policies that divide a node's CPU among its training jobs.
//
// A name is what a user writes in --policy and what records and decision logs show. The packages that implement the
// policies are flowcon (fair, flowcon-literal and flowcon), deadline (qore-dl) and fairfinish (harmless).
package policy
