// Scenarios about data that a client must ignore: unknown frames, fields and events, and those of other jobs.
import { acceptSubscription, findJobOfCall, sendEvents } from '../default-replies.ts'
import type { JsonMap } from '../frame-codec.ts'
import type { Scenario } from '../scenario.ts'
import { failedEvent, statusEvent } from '../scripted-events.ts'
import { SimulatedJob } from '../simulated-job.ts'
import { createRunWork } from '../tasks.ts'
import { ALL_SEQUENCES, EXPECT_ALL_EVENTS, FOLLOW_STEP } from './expectations.ts'

const UNKNOWN_FRAMES: readonly JsonMap[] = [
  { type: 'weather', temperature: 21 },
  { note: 'a frame without a type' },
  { type: 'job_weather', job_id: 'job_greeting_1', status: 'failed', error: 'rain' },
  { type: 'resource_change', event: 'updated', resource_type: 'workflow', resource: { id: 'wf_greeting', etag: 'x' } },
]

const unknownFrameIgnored: Scenario = {
  id: 'unknown-frame-ignored',
  title: 'Frames of unknown types come, and one without a type',
  work: createRunWork(),
  step: 'a handshake for /ws',
  isReachedByScript: true,
  script: {
    onOpen: (connection, run) => {
      run.markStepReached()
      for (const frame of UNKNOWN_FRAMES) connection.send(frame)
    },
    calls: {
      subscribe_job: [
        (call, run) => {
          acceptSubscription(call, run)
          for (const position of ALL_SEQUENCES) {
            call.connection!.send(UNKNOWN_FRAMES[position % UNKNOWN_FRAMES.length]!)
            sendEvents(call, run, [position])
          }
        },
      ],
    },
  },
  expected: EXPECT_ALL_EVENTS,
}

const UNKNOWN_FIELD = { since_version_2: { list: [1, 2, 3], text: 'new' } }

/** Adds an unknown field to a record and to its members. */
function withUnknownFields(record: JsonMap): JsonMap {
  const inner = ['result', 'event', 'snapshot', 'error'].flatMap((key) => {
    const value = record[key]
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? [[key, withUnknownFields(value as JsonMap)]]
      : []
  })
  return { ...record, ...Object.fromEntries(inner), ...UNKNOWN_FIELD }
}

const unknownFieldsTolerated: Scenario = {
  id: 'unknown-fields-tolerated',
  title: 'Every record has a field more',
  work: createRunWork(),
  step: 'any command or request',
  isReachedByScript: true,
  script: {
    decorate: (record, run) => {
      run.markStepReached()
      return withUnknownFields(record)
    },
  },
  expected: EXPECT_ALL_EVENTS,
}

/** A failing job without followers. */
function createOtherJob(): SimulatedJob {
  const facts = { job_id: 'job_other', workflow_id: 'wf_other', workflow_etag: 'etag', inputs: {} }
  return new SimulatedJob({ ...facts, events: [statusEvent('accepted'), statusEvent('running'), failedEvent] })
}

const otherJobsEventsApart: Scenario = {
  id: 'other-jobs-events-apart',
  title: 'Events of another job come on the same socket',
  work: createRunWork(),
  step: FOLLOW_STEP,
  script: {
    calls: {
      subscribe_job: [
        (call, run) => {
          acceptSubscription(call, run)
          for (const event of createOtherJob().storeEvents([1, 2, 3]))
            call.connection!.send({ type: 'job_event', job_id: 'job_other', event })
          sendEvents(call, run, ALL_SEQUENCES)
        },
      ],
    },
  },
  expected: EXPECT_ALL_EVENTS,
}

const eventNamesItsJob: Scenario = {
  id: 'event-names-its-job',
  title: 'Events of another job come under the id of the job that is followed',
  work: createRunWork(),
  step: FOLLOW_STEP,
  script: {
    calls: {
      subscribe_job: [
        (call, run) => {
          acceptSubscription(call, run)
          const { job_id } = findJobOfCall(call, run)
          for (const event of createOtherJob().storeEvents([1, 2, 3]))
            call.connection!.send({ type: 'job_event', job_id, event })
          sendEvents(call, run, ALL_SEQUENCES)
        },
      ],
    },
  },
  expected: EXPECT_ALL_EVENTS,
}

export const toleranceScenarios = [unknownFrameIgnored, unknownFieldsTolerated, otherJobsEventsApart, eventNamesItsJob]
