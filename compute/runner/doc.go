// Package runner runs attempts: it prepares their files and environment, starts
// the command in a process group of its own, ships its log, collects its
// outputs and reports to the server until the server has taken the result.
//
// Two programs stand on it: the detached supervisor of a data directory
// (flowforge runner), which outlives the server, and the single attempt of a
// pod (flowforge task). Both know the server by TaskService and the task blob
// routes alone.
//
// What happens when something dies:
//   - the server: tasks go on; reports and logs wait in memory and on disk and
//     are repeated until they are taken, results before the process ends.
//   - the runner: its tasks die with it (parent-death signal; the next runner
//     sweeps what they left behind). They are not listed any more, which is how
//     the server learns that they are lost. Results and logs already on disk are
//     delivered by the next runner.
//   - a task: its whole process group, and every process that escaped from it,
//     is killed before the result is reported.
//
// Levels of log lines: a line is INFO on both streams (programs write progress
// to stderr) unless it says otherwise: a level word at its begin (ERROR,
// WARNING, DEBUG …) or a Python traceback.
//
// Memory limits are watched, not enforced by the kernel: address-space limits
// break programs that reserve much and use little. Every sampling interval the
// resident memory of the group is summed, and a group above its limit is killed.
package runner
