// What a client must leave alone: frames, fields and events that it does not know or that are not its own.
import { accept, jobOf, send } from '../answers.ts'
import { Job } from '../jobs.ts'
import { failed, status } from '../life.ts'
import type { Scenario } from '../scenario.ts'
import { run } from '../tasks.ts'
import type { Fields } from '../wire.ts'
import { ALL, FOLLOWS, GREETED } from './common.ts'

const STRANGE: readonly Fields[] = [
  { type: 'weather', temperature: 21 },
  { note: 'a frame without a type' },
  { type: 'job_weather', job_id: 'job_greeting_1', status: 'failed', error: 'rain' },
  { type: 'resource_change', event: 'updated', resource_type: 'workflow', resource: { id: 'wf_greeting', etag: 'x' } },
]

const unknownFrame: Scenario = {
  id: 'unknown-frame-ignored',
  title: 'Frames of unknown types come, and one without a type',
  work: run(),
  step: 'a handshake for /ws',
  late: true,
  play: {
    open: (connection, stage) => {
      stage.reach()
      for (const frame of STRANGE) connection.send(frame)
    },
    calls: {
      subscribe_job: [
        (call, stage) => {
          accept(call, stage)
          for (const position of ALL) {
            call.connection!.send(STRANGE[position % STRANGE.length]!)
            send(call, stage, [position])
          }
        },
      ],
    },
  },
  expected: GREETED,
}

const NEWS = { since_version_2: { list: [1, 2, 3], text: 'new' } }

/** Adds a field to a record and to what it carries. */
function withNews(record: Fields): Fields {
  const inner = ['result', 'event', 'snapshot', 'error'].flatMap((key) => {
    const value = record[key]
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? [[key, withNews(value as Fields)]]
      : []
  })
  return { ...record, ...Object.fromEntries(inner), ...NEWS }
}

const unknownFields: Scenario = {
  id: 'unknown-fields-tolerated',
  title: 'Every record has a field more',
  work: run(),
  step: 'any command or request',
  late: true,
  play: {
    decorate: (record, stage) => {
      stage.reach()
      return withNews(record)
    },
  },
  expected: GREETED,
}

/** A job that nobody follows, and that fails. */
function otherJob(): Job {
  const facts = { job_id: 'job_other', workflow_id: 'wf_other', workflow_etag: 'etag', inputs: {} }
  return new Job({ ...facts, life: [status('accepted'), status('running'), failed] })
}

const otherJobs: Scenario = {
  id: 'other-jobs-events-apart',
  title: 'Events of another job come on the same socket',
  work: run(),
  step: FOLLOWS,
  play: {
    calls: {
      subscribe_job: [
        (call, stage) => {
          accept(call, stage)
          for (const event of otherJob().take([1, 2, 3]))
            call.connection!.send({ type: 'job_event', job_id: 'job_other', event })
          send(call, stage, ALL)
        },
      ],
    },
  },
  expected: GREETED,
}

const wrongFrame: Scenario = {
  id: 'event-names-its-job',
  title: 'Events of another job come under the id of the job that is followed',
  work: run(),
  step: FOLLOWS,
  play: {
    calls: {
      subscribe_job: [
        (call, stage) => {
          accept(call, stage)
          const { job_id } = jobOf(call, stage)
          for (const event of otherJob().take([1, 2, 3])) call.connection!.send({ type: 'job_event', job_id, event })
          send(call, stage, ALL)
        },
      ],
    },
  },
  expected: GREETED,
}

export const tolerance = [unknownFrame, unknownFields, otherJobs, wrongFrame]
