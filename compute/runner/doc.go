// Package runner runs attempts: it prepares their files and environment, starts the
// command in its own process group, ships its log, collects its outputs, and reports to
// the server until the server has accepted the result.
//
// Two programs use it: the detached supervisor of a data directory (flowforge runner),
// which outlives the server, and the single attempt of a pod (flowforge task). Both reach
// the server only through TaskService and the task blob routes.
//
// Behavior when a process dies:
//   - the server: tasks continue. Reports and logs wait in memory and on disk and
//     are retried until the server accepts them; results are on disk before the
//     process ends.
//   - the runner: its tasks die with it (parent-death signal); the next runner kills
//     their remaining processes. The attempts are no longer listed, which is how
//     the server detects that they are lost. The next runner delivers the
//     results and logs that are already on disk.
//   - a task: the runner kills its whole process group, and every process that
//     escaped from it, before it reports the result.
//
// Levels of log lines: a line is INFO on both streams (programs write progress to stderr)
// unless it begins with a level word (ERROR, WARNING, DEBUG …) or belongs to a Python
// traceback.
//
// The runner enforces memory limits by sampling, not through the kernel: address-space
// limits break programs that reserve much memory and use little. At every sampling
// interval it sums the memory of an attempt's processes and kills an attempt above its
// limit.
package runner
