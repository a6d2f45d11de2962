// What scenarios share: reports that are expected, and the steps that they are about.
import { accept, send } from '../answers.ts'
import { GREETING } from '../life.ts'
import type { Turn } from '../scenario.ts'

/** The sequences of the usual job. */
export const ALL = [1, 2, 3, 4, 5, 6]
/** The job has completed, and every event was processed once. */
export const GREETED = { status: ['completed'], value: GREETING, events: ALL } as const
/** The same, where a snapshot may stand for events. */
export const COMPLETE = { status: ['completed'], value: GREETING, events: 'complete' } as const
/** The same, where events may be gone. */
export const ENDED = { status: ['completed'], value: GREETING, events: 'rising' } as const

export const FOLLOWS = 'subscribe_job for the job that was submitted'
export const SUBMITS = 'submit_job of the workflow wf_greeting'
export const CANCELS = 'request_job_cancellation for the job'

/** Answers a subscription, sends these events and no others, until the client asks again. */
export const sending =
  (...positions: number[]): Turn =>
  (call, stage) => {
    accept(call, stage)
    send(call, stage, positions)
  }
