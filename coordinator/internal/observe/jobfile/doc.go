// Package jobfile follows a file inside a container, where a job keeps its progress.
//
// The path is the container's own: it is resolved in the root folder of one of the container's processes, which the
// kernel shows at /proc/<pid>/root, so that any volume counts and no runtime's layout needs to be known. The process is
// found by the container's cgroup, and looked for there again after its root was opened: a number that was reused in
// between is noticed.
//
// The file is the job's, and so are the folders above it. openat2 keeps every link on the way inside the container's
// root (RESOLVE_IN_ROOT), follows none of the kernel's magic ones, and what it arrives at is opened for reading only
// after it has proved to be a regular file: a device or a pipe is never opened at all. Nothing is held once the
// container has ended.
//
// A file that is replaced is read to its end before its successor, one that is cut short is read from its beginning,
// and one that is long already when first seen is entered near its end. After a restart of the container a file that
// survived, in a volume, goes on where it was read to.
//
// To look into containers takes the node's process IDs (hostPID) and the capabilities SYS_PTRACE and DAC_READ_SEARCH,
// which the coordinator otherwise does without: deploy/components/file-progress grants them.
package jobfile
