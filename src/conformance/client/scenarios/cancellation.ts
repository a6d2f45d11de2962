// Scenarios about cancellations, and what their acknowledgement means.
import { appendEvents, findJobOfCall } from '../default-replies.ts'
import type { CallHandler, Scenario } from '../scenario.ts'
import { cancelledEvent, completedEvent, GREETING, outputEvent, statusEvent } from '../scripted-events.ts'
import { createCancellationReply } from '../server-records.ts'
import { createCancelWork } from '../tasks.ts'
import { CANCEL_STEP, EXPECT_RISING_EVENTS } from './expectations.ts'

const PAUSE_MS = 120
const createRunningEvents = () => [statusEvent('accepted'), statusEvent('running')]

/** Accepts the cancellation, and later ends the job with this event. */
const acceptAndEndWith =
  (...life: Parameters<typeof appendEvents>[2]): CallHandler =>
  (call, run) => {
    const job = findJobOfCall(call, run)
    appendEvents(run, job, [statusEvent('cancel_requested')])
    call.reply(createCancellationReply(job))
    run.schedule(PAUSE_MS, () => appendEvents(run, job, life))
  }

const cancelNotTerminal: Scenario = {
  id: 'cancel-not-terminal',
  title: 'A cancellation is acknowledged, and takes its time',
  work: createCancelWork('running'),
  step: CANCEL_STEP,
  createEvents: createRunningEvents,
  script: { calls: { request_job_cancellation: [acceptAndEndWith(cancelledEvent)] } },
  expected: { status: ['cancelled'], value: null, events: [1, 2, 3, 4] },
}

const cancelOvertaken: Scenario = {
  id: 'cancel-overtaken',
  title: 'The job completes after its cancellation is accepted',
  work: createCancelWork('running'),
  step: CANCEL_STEP,
  createEvents: createRunningEvents,
  script: { calls: { request_job_cancellation: [acceptAndEndWith(outputEvent(), completedEvent())] } },
  expected: { status: ['completed'], value: GREETING, events: [1, 2, 3, 4, 5] },
}

const cancelAtOnce: Scenario = {
  id: 'cancel-at-once',
  title: 'A queued job is cancelled at once, and no event says so',
  work: createCancelWork('queued'),
  step: CANCEL_STEP,
  createEvents: () => [statusEvent('queued', 2)],
  script: {
    calls: {
      request_job_cancellation: (call, run) => {
        const job = findJobOfCall(call, run)
        if (!job.isTerminal) {
          job.extend([cancelledEvent])
          job.stored = job.events.length
        }
        call.reply(createCancellationReply(job))
      },
    },
  },
  expected: { status: ['cancelled'], value: null, events: 'rising' },
}

const cancelAfterEnd: Scenario = {
  id: 'cancel-after-end',
  title: 'The job has ended before its cancellation is asked for',
  work: createCancelWork('ended'),
  step: CANCEL_STEP,
  script: {
    calls: { request_job_cancellation: (call, run) => call.reply(createCancellationReply(findJobOfCall(call, run))) },
  },
  expected: EXPECT_RISING_EVENTS,
}

export const cancellationScenarios = [cancelNotTerminal, cancelOvertaken, cancelAtOnce, cancelAfterEnd]
