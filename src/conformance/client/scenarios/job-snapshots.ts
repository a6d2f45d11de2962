// Scenarios about snapshots that replace events: expired replays, ends without an event, and jobs that went on without the client.
import {
  acceptSubscription,
  appendEvents,
  broadcastEvents,
  findJobOfCall,
  readAfterSequence,
  replySubscription,
} from '../default-replies.ts'
import type { JsonMap } from '../frame-codec.ts'
import type { Scenario } from '../scenario.ts'
import type { ScenarioRun } from '../scenario-run.ts'
import { GREETING, greetingEvents, statusEvent } from '../scripted-events.ts'
import { createAttachWork, createCancelWork, createLookWork, createRunWork } from '../tasks.ts'
import { ALL_SEQUENCES, CANCEL_STEP, EXPECT_RISING_EVENTS, FOLLOW_STEP, sendOnly } from './expectations.ts'

const OLD_JOB = 'job_old'

/** Creates a job that has gone on without the client. The client has its events up to a sequence. */
const prepareOldJob =
  (stored: number, held: number, base = 0) =>
  (run: ScenarioRun) => {
    const job = run.addJob(OLD_JOB, 'wf_greeting', greetingEvents(), { name: 'Ada' }, base)
    job.stored = stored
    job.markCovered(held)
  }

const replayExpired: Scenario = {
  id: 'replay-expired',
  title: 'The events after the given sequence are no longer kept',
  work: createAttachWork(OLD_JOB, 1),
  step: `subscribe_job for ${OLD_JOB}`,
  prepare: prepareOldJob(4, 1),
  script: {
    calls: {
      subscribe_job: (call, run) => {
        const job = findJobOfCall(call, run)
        if (readAfterSequence(call) >= 4) return replySubscription(call, job, run)
        acceptSubscription(call, run, true)
        run.schedule(20, () => broadcastEvents(run, job, [5, 6]))
      },
    },
  },
  expected: EXPECT_RISING_EVENTS,
  findFailure: ({ calls }) =>
    calls.filter(({ name }) => name === 'subscribe_job').length > 4
      ? 'the client asked again and again for events that are no longer kept'
      : null,
}

const terminalInSnapshot: Scenario = {
  id: 'terminal-in-snapshot',
  title: 'The job ends while the socket is lost, and its last events are gone',
  work: createRunWork(),
  step: FOLLOW_STEP,
  script: {
    calls: {
      subscribe_job: (call, run) => {
        const job = findJobOfCall(call, run)
        if (run.countOccurrence('subscription') === 1) {
          sendOnly(1, 2, 3)(call, run)
          call.connection!.drop()
          job.stored = 6
        } else acceptSubscription(call, run, true)
      },
    },
  },
  expected: EXPECT_RISING_EVENTS,
}

const endedBeforeSubscription: Scenario = {
  id: 'ended-before-subscription',
  title: 'The job has ended before it is followed, and the client has all its events',
  work: createAttachWork(OLD_JOB, 6),
  step: `subscribe_job for ${OLD_JOB}`,
  prepare: prepareOldJob(6, 6),
  script: { calls: { subscribe_job: (call, run) => void acceptSubscription(call, run) } },
  expected: EXPECT_RISING_EVENTS,
}

const terminalBeforeAnswer: Scenario = {
  id: 'terminal-before-answer',
  title: 'The end of the job comes before the answer to its cancellation, which still says cancel_requested',
  work: createCancelWork('running'),
  step: CANCEL_STEP,
  createEvents: () => [statusEvent('accepted'), statusEvent('running')],
  script: {
    calls: {
      request_job_cancellation: [
        (call, run) => {
          const job = findJobOfCall(call, run)
          const { job_id } = job
          job.extend([statusEvent('cancel_requested')])
          const snapshot = job.snapshot(3)
          appendEvents(run, job, greetingEvents().slice(5))
          run.schedule(20, () => call.reply({ job_id, status: 'cancel_requested', cancel_requested: true, snapshot }))
        },
      ],
    },
  },
  expected: EXPECT_RISING_EVENTS,
}

/** A sequence above 2^52, which 32 bits and 32-bit floats cannot hold. */
const LARGE_SEQUENCE = 9_007_199_254_740_900

const largeSequences: Scenario = {
  id: 'large-sequences',
  title: 'The sequences of a job are close to 2^53',
  work: createAttachWork(OLD_JOB, LARGE_SEQUENCE),
  step: `subscribe_job for ${OLD_JOB}`,
  prepare: prepareOldJob(1, LARGE_SEQUENCE, LARGE_SEQUENCE),
  script: { calls: { subscribe_job: [(call, run) => replySubscription(call, findJobOfCall(call, run), run)] } },
  expected: {
    status: ['completed'],
    value: GREETING,
    events: ALL_SEQUENCES.map((position) => LARGE_SEQUENCE + position),
  },
}

const olderSnapshotChangesNothing: Scenario = {
  id: 'older-snapshot-changes-nothing',
  title: 'A snapshot comes that is older than the last event',
  work: createLookWork(),
  step: 'get_job_snapshot for the job that is suspended',
  createEvents: () => [statusEvent('accepted'), statusEvent('running'), statusEvent('suspended')],
  script: {
    calls: {
      subscribe_job: [sendOnly(1, 2, 3)],
      get_job_snapshot: (call, run) => call.reply(findJobOfCall(call, run).snapshot(2) as JsonMap),
    },
  },
  expected: { status: ['suspended'], value: null },
  findFailure: ({ calls }) =>
    calls.some(({ name }) => name === 'get_job_snapshot' || name === 'getJob')
      ? null
      : 'the client never read a snapshot',
}

export const snapshotScenarios = [
  replayExpired,
  terminalInSnapshot,
  endedBeforeSubscription,
  terminalBeforeAnswer,
  olderSnapshotChangesNothing,
  largeSequences,
]
