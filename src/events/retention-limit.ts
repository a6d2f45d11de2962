// How much of a job's history is kept.

/** The most events that are kept of one job: the last ones. */
export const MAX_JOB_EVENTS = 100_000
