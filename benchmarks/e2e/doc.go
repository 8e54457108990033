// Package e2e tests all of Trellis on a real cluster on this machine, as root:
//
//	go test -tags e2e -timeout 20m ./e2e
//
// It brings up a cluster of a random name, installs Trellis from source with the production manifests and their default
// settings, and runs real training jobs. Meanwhile it checks every link of the chain: annotation, limit, binding,
// allocation, socket and shim in the container, resize in the cgroup, category, acknowledged loaders. It makes the mistakes
// of users and machines: invalid annotations, a pod that fits no GPU, a job that floods its socket. It kills each of the
// four binaries. Every job must finish, and nothing may be left of the cluster.
//
// Tests that call t.Parallel share the machine, each with a cluster of its own. The others depend on how fast their jobs are.
//
// TRELLIS_STOCK_DIR names a folder of stock programs. Without it they are built (once, 15 minutes).
package e2e
