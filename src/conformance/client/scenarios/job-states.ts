// Scenarios about the states of a job, terminal and not terminal.
import {
  acceptSubscription,
  broadcastEvents,
  findJobOfCall,
  replyByDefault,
  replySubscription,
  sendEvents,
} from '../default-replies.ts'
import type { CallHandler, Scenario } from '../scenario.ts'
import {
  cancelledEvent,
  completedEvent,
  failedEvent,
  GREETING,
  nodeEvent,
  outputEvent,
  type ScriptedEvents,
  statusEvent,
} from '../scripted-events.ts'
import { createRunWork } from '../tasks.ts'
import { EXPECT_EVENTS_OR_SNAPSHOT, FOLLOW_STEP } from './expectations.ts'

/** How long a state lasts. A client that takes it for terminal ends in this time. */
const PAUSE_MS = 100

/** Sends the first events, and all others after a pause. */
const sendWithPause =
  (first: number): CallHandler =>
  (call, run) => {
    const job = acceptSubscription(call, run)
    const positions = job.positionsAfter(job.base)
    sendEvents(call, run, positions.slice(0, first))
    run.schedule(PAUSE_MS, () => broadcastEvents(run, job, positions.slice(first)))
  }

const COMPLETION_EVENTS: ScriptedEvents = [statusEvent('running'), outputEvent(), completedEvent()]

const suspendedNotTerminal: Scenario = {
  id: 'suspended-not-terminal',
  title: 'The job waits for a person, and goes on',
  work: createRunWork(),
  step: FOLLOW_STEP,
  createEvents: () => [statusEvent('accepted'), statusEvent('running'), statusEvent('suspended'), ...COMPLETION_EVENTS],
  script: { calls: { subscribe_job: [sendWithPause(3)] } },
  expected: { status: ['completed'], value: GREETING, events: [1, 2, 3, 4, 5, 6] },
}

const recoveringNotTerminal: Scenario = {
  id: 'recovering-not-terminal',
  title: 'The server is interrupted, recovers the job, and goes on',
  work: createRunWork(),
  step: FOLLOW_STEP,
  createEvents: () => [
    statusEvent('accepted'),
    statusEvent('running'),
    statusEvent('recovering'),
    ...COMPLETION_EVENTS,
  ],
  script: {
    calls: {
      subscribe_job: [
        (call, run) => {
          acceptSubscription(call, run)
          sendEvents(call, run, [1, 2, 3])
          call.connection!.drop()
        },
        (call, run) => {
          const job = acceptSubscription(call, run)
          sendEvents(call, run, [1, 2, 3])
          run.schedule(PAUSE_MS, () => broadcastEvents(run, job, [4, 5, 6]))
        },
      ],
    },
  },
  expected: EXPECT_EVENTS_OR_SNAPSHOT,
}

const queuedNotTerminal: Scenario = {
  id: 'queued-not-terminal',
  title: 'The job waits in the queue, and its place changes',
  work: createRunWork(),
  step: FOLLOW_STEP,
  createEvents: () => [statusEvent('queued', 3), ...COMPLETION_EVENTS],
  script: {
    calls: {
      submit_job: [replyByDefault],
      subscribe_job: [
        (call, run) => {
          const job = acceptSubscription(call, run)
          sendEvents(call, run, [1])
          for (const queue_position of [2, 1]) {
            const { job_id, workflow_id } = job.facts
            call.connection!.send({ type: 'job_update', status: 'queued', job_id, workflow_id, queue_position })
          }
          run.schedule(PAUSE_MS, () => broadcastEvents(run, job, [2, 3, 4]))
        },
      ],
    },
  },
  expected: { status: ['completed'], value: GREETING, events: [1, 2, 3, 4] },
}

const replyAndFollow: CallHandler = (call, run) => replySubscription(call, findJobOfCall(call, run), run)

const failedJob: Scenario = {
  id: 'failed-job',
  title: 'The job fails',
  work: createRunWork(),
  step: FOLLOW_STEP,
  createEvents: () => [
    statusEvent('accepted'),
    statusEvent('running'),
    nodeEvent('running'),
    nodeEvent('failed'),
    failedEvent,
  ],
  script: { calls: { subscribe_job: [replyAndFollow] } },
  expected: { status: ['failed'], value: null, events: [1, 2, 3, 4, 5] },
}

const cancelledWithoutError: Scenario = {
  id: 'cancelled-without-error',
  title: 'Somebody else cancels the job',
  work: createRunWork(),
  step: FOLLOW_STEP,
  createEvents: () => [
    statusEvent('accepted'),
    statusEvent('running'),
    statusEvent('cancel_requested'),
    cancelledEvent,
  ],
  script: { calls: { subscribe_job: [replyAndFollow] } },
  expected: { status: ['cancelled'], value: null, events: [1, 2, 3, 4] },
}

export const stateScenarios = [
  suspendedNotTerminal,
  recoveringNotTerminal,
  queuedNotTerminal,
  failedJob,
  cancelledWithoutError,
]
