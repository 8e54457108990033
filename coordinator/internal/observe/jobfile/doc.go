// Package jobfile follows a file inside a container in which a job writes its progress.
//
// The path is resolved in the root folder of one of the container's processes, /proc/<pid>/root. So it works for every
// volume type and every container runtime. The process is found by the container's cgroup, which is read again after
// the root folder was opened, to detect a process ID that was reused in between.
//
// The job controls the file and the folders above it. openat2 keeps all symbolic links inside the container's root
// (RESOLVE_IN_ROOT) and rejects magic links (RESOLVE_NO_MAGICLINKS). The file is opened with O_PATH first, and for
// reading only if it is a regular file, so a device or a pipe is never opened. No file stays open after the container
// has ended.
//
// A file that is replaced is read to its end before its successor. A file that is truncated is read from its beginning.
// Of a file that is long when first opened, only the end is read. A file that survives a restart of the container, in a
// volume, is read from the last offset on.
//
// Access to containers needs the host's PID namespace (hostPID) and the capabilities SYS_PTRACE and DAC_READ_SEARCH.
// The coordinator does not have them by default; deploy/components/file-progress grants them.
package jobfile
