// Reports and steps that several scenarios expect.
import { acceptSubscription, sendEvents } from '../default-replies.ts'
import type { CallHandler } from '../scenario.ts'
import { GREETING } from '../scripted-events.ts'

/** The sequences of the default job. */
export const ALL_SEQUENCES = [1, 2, 3, 4, 5, 6]
/** The job has completed, and the client processed every event once. */
export const EXPECT_ALL_EVENTS = { status: ['completed'], value: GREETING, events: ALL_SEQUENCES } as const
/** As `EXPECT_ALL_EVENTS`, but a snapshot may replace events. */
export const EXPECT_EVENTS_OR_SNAPSHOT = { status: ['completed'], value: GREETING, events: 'complete' } as const
/** As `EXPECT_ALL_EVENTS`, but events may be missing. */
export const EXPECT_RISING_EVENTS = { status: ['completed'], value: GREETING, events: 'rising' } as const

export const FOLLOW_STEP = 'subscribe_job for the job that was submitted'
export const SUBMIT_STEP = 'submit_job of the workflow wf_greeting'
export const CANCEL_STEP = 'request_job_cancellation for the job'

/** Answers a subscription and sends only these events, until the client asks again. */
export const sendOnly =
  (...positions: number[]): CallHandler =>
  (call, run) => {
    acceptSubscription(call, run)
    sendEvents(call, run, positions)
  }
