// Package fair decides which requests may start: hierarchical quotas, fair sharing,
// preemption and the placement of GPUs, purely and in memory. It reads no clock, no
// database or network; package quota stores the rows and calls it.
//
// The rules, and where they come from:
//
//   - Limits, borrowing and lending on a tree of levels follow the cohorts of
//     Kueue (Kubernetes SIG Scheduling, KEP-79 hierarchical cohorts, KEP-1224
//     lending limits): a level may always use its limit, and what relatives
//     leave idle and lend up to its borrowing limit.
//   - Shares are weighted dominant shares: Ghodsi et al., "Dominant Resource
//     Fairness", NSDI 2011.
//   - Siblings are compared level by level from the root, so that what one team
//     does never harms the standing of a team elsewhere: Slurm's Fair Tree
//     (Cox and Morrison, 2014).
//   - Use decays with a half-life and every start is charged in advance: the
//     admission fair sharing of Kueue (KEP-4136).
//   - Preemption takes from borrowers alone: the laws of Apache YuniKorn.
//
// docs/decisions/005-fair-sharing.md explains why these and not others.
package fair
