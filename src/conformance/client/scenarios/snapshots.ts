// Snapshots that stand for events: expired replays, ends that no event tells, and jobs that went on without the client.
import { accept, afterOf, follow, grow, jobOf, tell } from '../answers.ts'
import { GREETING, greetingLife, status } from '../life.ts'
import type { Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'
import { attach, cancel, look, run } from '../tasks.ts'
import type { Fields } from '../wire.ts'
import { ALL, CANCELS, ENDED, FOLLOWS, sending } from './common.ts'

const OLD_JOB = 'job_old'

/** A job that has gone on without the client, which has the events up to a sequence. */
const oldJob =
  (stored: number, held: number, base = 0) =>
  (stage: Stage) => {
    const job = stage.addJob(OLD_JOB, 'wf_greeting', greetingLife(), { name: 'Ada' }, base)
    job.stored = stored
    job.covered(held)
  }

const expired: Scenario = {
  id: 'replay-expired',
  title: 'The events after the given sequence are no longer kept',
  work: attach(OLD_JOB, 1),
  step: `subscribe_job for ${OLD_JOB}`,
  prepare: oldJob(4, 1),
  play: {
    calls: {
      subscribe_job: (call, stage) => {
        const job = jobOf(call, stage)
        if (afterOf(call) >= 4) return follow(call, job, stage)
        accept(call, stage, true)
        stage.after(20, () => tell(stage, job, [5, 6]))
      },
    },
  },
  expected: ENDED,
  judge: ({ calls }) =>
    calls.filter(({ name }) => name === 'subscribe_job').length > 4
      ? 'it asked on and on for events that are no longer kept'
      : null,
}

const terminalSnapshot: Scenario = {
  id: 'terminal-in-snapshot',
  title: 'The job ends while the socket is lost, and its last events are gone',
  work: run(),
  step: FOLLOWS,
  play: {
    calls: {
      subscribe_job: (call, stage) => {
        const job = jobOf(call, stage)
        if (stage.count('subscription') === 1) {
          sending(1, 2, 3)(call, stage)
          call.connection!.drop()
          job.stored = 6
        } else accept(call, stage, true)
      },
    },
  },
  expected: ENDED,
}

const ended: Scenario = {
  id: 'ended-before-subscription',
  title: 'The job has ended before it is followed, and the client has all its events',
  work: attach(OLD_JOB, 6),
  step: `subscribe_job for ${OLD_JOB}`,
  prepare: oldJob(6, 6),
  play: { calls: { subscribe_job: (call, stage) => void accept(call, stage) } },
  expected: ENDED,
}

const beforeAnswer: Scenario = {
  id: 'terminal-before-answer',
  title: 'The end of the job comes before the answer to its cancellation, which still says cancel_requested',
  work: cancel('running'),
  step: CANCELS,
  life: () => [status('accepted'), status('running')],
  play: {
    calls: {
      request_job_cancellation: [
        (call, stage) => {
          const job = jobOf(call, stage)
          const { job_id } = job
          job.extend([status('cancel_requested')])
          const snapshot = job.snapshot(3)
          grow(stage, job, greetingLife().slice(5))
          stage.after(20, () => call.reply({ job_id, status: 'cancel_requested', cancel_requested: true, snapshot }))
        },
      ],
    },
  },
  expected: ENDED,
}

/** Beyond 2^52, and not the same in 32 bits or in a float of 32 bits. */
const LARGE = 9_007_199_254_740_900

const large: Scenario = {
  id: 'large-sequences',
  title: 'The sequences of a job are close to 2^53',
  work: attach(OLD_JOB, LARGE),
  step: `subscribe_job for ${OLD_JOB}`,
  prepare: oldJob(1, LARGE, LARGE),
  play: { calls: { subscribe_job: [(call, stage) => follow(call, jobOf(call, stage), stage)] } },
  expected: { status: ['completed'], value: GREETING, events: ALL.map((position) => LARGE + position) },
}

const older: Scenario = {
  id: 'older-snapshot-changes-nothing',
  title: 'A snapshot comes that is older than the last event',
  work: look(),
  step: 'get_job_snapshot for the job that is suspended',
  life: () => [status('accepted'), status('running'), status('suspended')],
  play: {
    calls: {
      subscribe_job: [sending(1, 2, 3)],
      get_job_snapshot: (call, stage) => call.reply(jobOf(call, stage).snapshot(2) as Fields),
    },
  },
  expected: { status: ['suspended'], value: null },
  judge: ({ calls }) =>
    calls.some(({ name }) => name === 'get_job_snapshot' || name === 'getJob') ? null : 'it never read a snapshot',
}

export const snapshots = [expired, terminalSnapshot, ended, beforeAnswer, older, large]
