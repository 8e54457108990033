// Package signalsave lets jobs save that do not register a function with the shim: it sends a signal to a process of the
// container, waits for a complete new file at the declared path, writes it through to the disk, and hashes it.
//
// The oldest process of the container receives the signal: its main process, or the oldest of those with the declared name, since
// workers that a process forks have its name and its handlers. A process that does not catch the signal would end, so it
// gets none.
//
// growth/save.Watch decides when the file is complete. A job cannot say that it has failed, so a file on a volume without free
// space does not count.
//
// The job controls the file and the folders above it. The folder at which the container mounts the volume is opened in the
// container's root (/proc/<pid>/root), and the path below it by openat2 with RESOLVE_BENEATH and RESOLVE_NO_XDEV: symbolic links
// are followed within the volume, and none leads out of it. Only regular files are opened.
//
// Access to containers needs the host's PID namespace (hostPID) and the capabilities KILL, SYS_PTRACE and DAC_READ_SEARCH.
// The coordinator does not have them by default; deploy/components/signal-saves grants them.
package signalsave
