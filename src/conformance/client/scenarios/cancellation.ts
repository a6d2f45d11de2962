// Cancellations: what their acknowledgement means, and what it does not mean.
import { grow, jobOf } from '../answers.ts'
import { cancelled, completed, GREETING, output, status } from '../life.ts'
import { cancellation } from '../records.ts'
import type { Scenario, Turn } from '../scenario.ts'
import { cancel } from '../tasks.ts'
import { CANCELS, ENDED } from './common.ts'

const PAUSE_MS = 120
const RUNS = () => [status('accepted'), status('running')]

/** Accepts the cancellation, and ends the job later in this way. */
const endingWith =
  (...life: Parameters<typeof grow>[2]): Turn =>
  (call, stage) => {
    const job = jobOf(call, stage)
    grow(stage, job, [status('cancel_requested')])
    call.reply(cancellation(job))
    stage.after(PAUSE_MS, () => grow(stage, job, life))
  }

const notTerminal: Scenario = {
  id: 'cancel-not-terminal',
  title: 'A cancellation is acknowledged, and takes its time',
  work: cancel('running'),
  step: CANCELS,
  life: RUNS,
  play: { calls: { request_job_cancellation: [endingWith(cancelled)] } },
  expected: { status: ['cancelled'], value: null, events: [1, 2, 3, 4] },
}

const overtaken: Scenario = {
  id: 'cancel-overtaken',
  title: 'The job completes after its cancellation is accepted',
  work: cancel('running'),
  step: CANCELS,
  life: RUNS,
  play: { calls: { request_job_cancellation: [endingWith(output(), completed())] } },
  expected: { status: ['completed'], value: GREETING, events: [1, 2, 3, 4, 5] },
}

const atOnce: Scenario = {
  id: 'cancel-at-once',
  title: 'A queued job is cancelled at once, and no event says so',
  work: cancel('queued'),
  step: CANCELS,
  life: () => [status('queued', 2)],
  play: {
    calls: {
      request_job_cancellation: (call, stage) => {
        const job = jobOf(call, stage)
        if (!job.terminal) {
          job.extend([cancelled])
          job.stored = job.events.length
        }
        call.reply(cancellation(job))
      },
    },
  },
  expected: { status: ['cancelled'], value: null, events: 'rising' },
}

const afterEnd: Scenario = {
  id: 'cancel-after-end',
  title: 'The job has ended before its cancellation is asked for',
  work: cancel('ended'),
  step: CANCELS,
  play: { calls: { request_job_cancellation: (call, stage) => call.reply(cancellation(jobOf(call, stage))) } },
  expected: ENDED,
}

export const cancellations = [notTerminal, overtaken, atOnce, afterEnd]
