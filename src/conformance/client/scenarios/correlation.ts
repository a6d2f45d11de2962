// Answers and the commands that they belong to, and what a client must leave alone.

import type { SubscribeJobResponse } from '../../../../generated/types.ts'
import { accept, answer, jobOf, send } from '../answers.ts'
import type { Call } from '../call.ts'
import { Job } from '../jobs.ts'
import { failed, greetingLife, status } from '../life.ts'
import { refusal, socketError, subscription } from '../records.ts'
import type { Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'
import { pair, run } from '../tasks.ts'
import type { Fields } from '../wire.ts'
import { ALL, FOLLOWS, GREETED } from './common.ts'

/** An answer to a call that came on a socket, made by hand. */
function answerTo({ connection, data: _, name }: Call, request_id: unknown, rest: Fields): void {
  connection?.send({ type: 'rpc_response', request_id, command: name, ...rest })
}

/** A job with the same id that ended in another way. */
function wrongEnd(call: Call, stage: Stage): SubscribeJobResponse {
  const { job_id, workflow_id } = jobOf(call, stage).facts
  const wrong = new Job({
    job_id,
    workflow_id,
    workflow_etag: 'etag',
    inputs: {},
    life: greetingLife('Hello, nobody!'),
  })
  wrong.stored = wrong.events.length
  return subscription(wrong, wrong.stored)
}

const requestIds: Scenario = {
  id: 'request-id-unique',
  title: 'A subscription is refused once with RATE_LIMITED',
  work: run(),
  step: 'a second command with a request_id on one connection',
  late: true,
  play: {
    calls: { subscribe_job: [(call, stage) => stage.refuse(call, 'RATE_LIMITED')] },
    several: (stage) => stage.reach(),
  },
  expected: { status: ['completed', 'RATE_LIMITED'] },
}

const secondAnswer: Scenario = {
  id: 'second-answer-ignored',
  title: 'Each command is answered twice, the second time with something else',
  work: run(),
  step: FOLLOWS,
  late: true,
  play: {
    calls: {
      submit_job: [
        (call, stage) => {
          answer(call, stage)
          if (call.door === 'socket')
            again(call, { result: { ...wrongSubmission(stage), client_request_id: call.data.client_request_id } })
        },
      ],
      subscribe_job: [
        (call, stage) => {
          stage.reach()
          if (call.data.job_id === 'job_wrong')
            return stage.violate('it took the second answer to its submission', call.entry)
          accept(call, stage)
          again(call, { result: wrongEnd(call, stage) })
          again(call, { error: socketError(refusal('JOB_NOT_FOUND')) })
          send(call, stage, ALL)
        },
      ],
    },
  },
  expected: GREETED,
}

/** Answers a command once more. */
function again(call: Call, rest: Fields): void {
  answerTo(call, call.request_id, rest)
}

function wrongSubmission(stage: Stage): Fields {
  const job = stage.addJob('job_wrong', 'wf_greeting', [status('accepted'), failed])
  job.stored = 2
  return {
    job_id: 'job_wrong',
    status: 'accepted',
    queue_position: null,
    duplicate: false,
    accepted_at: '2026-01-15T09:30:00.000Z',
    preflight: null,
  }
}

const unmatched: Scenario = {
  id: 'unmatched-answer-ignored',
  title: 'Answers come that nobody asked for',
  work: run(),
  step: FOLLOWS,
  play: {
    calls: {
      subscribe_job: [
        (call, stage) => {
          answerTo(call, 'nobody-asked', { error: socketError(refusal('JOB_NOT_FOUND')) })
          answerTo(call, 'nobody-asked-either', { result: wrongEnd(call, stage) })
          accept(call, stage)
          send(call, stage, ALL)
        },
      ],
    },
  },
  expected: GREETED,
}

const HOLD_MS = 2_000

const outOfOrder: Scenario = {
  id: 'answers-out-of-order',
  title: 'Two submissions are answered in the opposite order',
  work: pair(),
  step: 'a second submission while the first one is not answered',
  late: true,
  keys: 2,
  play: {
    calls: {
      submit_job: (call, stage) => {
        if (stage.count('pair') === 1) {
          const first = () => {
            if (stage.count('first answered') === 1) answer(call, stage)
          }
          stage.firstAnswer = first
          stage.after(stage.paced(HOLD_MS, 500), first)
          return
        }
        if (!stage.counts.has('first answered')) stage.reach()
        answer(call, stage)
        stage.firstAnswer()
      },
    },
  },
  expected: { status: ['completed'], value: ['Hello, Ada!', 'Hello, Bob!'] },
}

export const correlation = [requestIds, secondAnswer, unmatched, outOfOrder]
