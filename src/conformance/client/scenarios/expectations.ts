// What scenarios share: reports that are expected, and the steps that they are about.
import { acceptSubscription, sendEvents } from '../default-replies.ts'
import type { CallHandler } from '../scenario.ts'
import { GREETING } from '../scripted-events.ts'

/** The sequences of the usual job. */
export const ALL_SEQUENCES = [1, 2, 3, 4, 5, 6]
/** The job has completed, and every event was processed once. */
export const EXPECT_ALL_EVENTS = { status: ['completed'], value: GREETING, events: ALL_SEQUENCES } as const
/** The same, where a snapshot may stand for events. */
export const EXPECT_EVENTS_OR_SNAPSHOT = { status: ['completed'], value: GREETING, events: 'complete' } as const
/** The same, where events may be gone. */
export const EXPECT_RISING_EVENTS = { status: ['completed'], value: GREETING, events: 'rising' } as const

export const FOLLOW_STEP = 'subscribe_job for the job that was submitted'
export const SUBMIT_STEP = 'submit_job of the workflow wf_greeting'
export const CANCEL_STEP = 'request_job_cancellation for the job'

/** Answers a subscription, sends these events and no others, until the client asks again. */
export const sendOnly =
  (...positions: number[]): CallHandler =>
  (call, run) => {
    acceptSubscription(call, run)
    sendEvents(call, run, positions)
  }
