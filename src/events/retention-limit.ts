/** Of the history of a job, only the last this many events are kept. */
export const MAX_JOB_EVENTS = 100_000
