// The states of a job: which of them are an end, and which are not.
import { accept, answer, follow, jobOf, send, tell } from '../answers.ts'
import { cancelled, completed, failed, GREETING, type Life, node, output, status } from '../life.ts'
import type { Scenario, Turn } from '../scenario.ts'
import { run } from '../tasks.ts'
import { COMPLETE, FOLLOWS } from './common.ts'

/** How long a state lasts in which a hasty client would end. */
const PAUSE_MS = 100

/** Sends the first events, and after a while all the others. */
const pausing =
  (first: number): Turn =>
  (call, stage) => {
    const job = accept(call, stage)
    const positions = job.positionsAfter(job.base)
    send(call, stage, positions.slice(0, first))
    stage.after(PAUSE_MS, () => tell(stage, job, positions.slice(first)))
  }

const afterwards: Life = [status('running'), output(), completed()]

const suspended: Scenario = {
  id: 'suspended-not-terminal',
  title: 'The job waits for a person, and goes on',
  work: run(),
  step: FOLLOWS,
  life: () => [status('accepted'), status('running'), status('suspended'), ...afterwards],
  play: { calls: { subscribe_job: [pausing(3)] } },
  expected: { status: ['completed'], value: GREETING, events: [1, 2, 3, 4, 5, 6] },
}

const recovering: Scenario = {
  id: 'recovering-not-terminal',
  title: 'The server is interrupted, recovers the job, and goes on',
  work: run(),
  step: FOLLOWS,
  life: () => [status('accepted'), status('running'), status('recovering'), ...afterwards],
  play: {
    calls: {
      subscribe_job: [
        (call, stage) => {
          accept(call, stage)
          send(call, stage, [1, 2, 3])
          call.connection!.drop()
        },
        (call, stage) => {
          const job = accept(call, stage)
          send(call, stage, [1, 2, 3])
          stage.after(PAUSE_MS, () => tell(stage, job, [4, 5, 6]))
        },
      ],
    },
  },
  expected: COMPLETE,
}

const queued: Scenario = {
  id: 'queued-not-terminal',
  title: 'The job waits in the queue, and its place changes',
  work: run(),
  step: FOLLOWS,
  life: () => [status('queued', 3), ...afterwards],
  play: {
    calls: {
      submit_job: [answer],
      subscribe_job: [
        (call, stage) => {
          const job = accept(call, stage)
          send(call, stage, [1])
          for (const queue_position of [2, 1]) {
            const { job_id, workflow_id } = job.facts
            call.connection!.send({ type: 'job_update', status: 'queued', job_id, workflow_id, queue_position })
          }
          stage.after(PAUSE_MS, () => tell(stage, job, [2, 3, 4]))
        },
      ],
    },
  },
  expected: { status: ['completed'], value: GREETING, events: [1, 2, 3, 4] },
}

const followed: Turn = (call, stage) => follow(call, jobOf(call, stage), stage)

const failedJob: Scenario = {
  id: 'failed-job',
  title: 'The job fails',
  work: run(),
  step: FOLLOWS,
  life: () => [status('accepted'), status('running'), node('running'), node('failed'), failed],
  play: { calls: { subscribe_job: [followed] } },
  expected: { status: ['failed'], value: null, events: [1, 2, 3, 4, 5] },
}

const withoutError: Scenario = {
  id: 'cancelled-without-error',
  title: 'Somebody else cancels the job',
  work: run(),
  step: FOLLOWS,
  life: () => [status('accepted'), status('running'), status('cancel_requested'), cancelled],
  play: { calls: { subscribe_job: [followed] } },
  expected: { status: ['cancelled'], value: null, events: [1, 2, 3, 4] },
}

export const states = [suspended, recovering, queued, failedJob, withoutError]
