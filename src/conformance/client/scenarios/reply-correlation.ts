// Scenarios about the correlation of replies with commands, and replies that a client must ignore.

import type { SubscribeJobResponse } from '../../../../generated/types.ts'
import type { ClientCall } from '../call.ts'
import { acceptSubscription, findJobOfCall, replyByDefault, sendEvents } from '../default-replies.ts'
import type { JsonMap } from '../frame-codec.ts'
import type { Scenario } from '../scenario.ts'
import type { ScenarioRun } from '../scenario-run.ts'
import { failedEvent, greetingEvents, statusEvent } from '../scripted-events.ts'
import { createSubscriptionReply, findCallError, toSocketError } from '../server-records.ts'
import { SimulatedJob } from '../simulated-job.ts'
import { createPairWork, createRunWork } from '../tasks.ts'
import { ALL_SEQUENCES, EXPECT_ALL_EVENTS, FOLLOW_STEP } from './expectations.ts'

/** Sends a handmade reply to a call of a socket. */
function sendReplyFrame({ connection, data: _, name }: ClientCall, request_id: unknown, rest: JsonMap): void {
  connection?.send({ type: 'rpc_response', request_id, command: name, ...rest })
}

/** Creates a job with the same id and a different end. */
function createWrongSubscriptionReply(call: ClientCall, run: ScenarioRun): SubscribeJobResponse {
  const { job_id, workflow_id } = findJobOfCall(call, run).facts
  const wrong = new SimulatedJob({
    job_id,
    workflow_id,
    workflow_etag: 'etag',
    inputs: {},
    events: greetingEvents('Hello, nobody!'),
  })
  wrong.stored = wrong.events.length
  return createSubscriptionReply(wrong, wrong.stored)
}

const requestIdUnique: Scenario = {
  id: 'request-id-unique',
  title: 'A subscription is refused once with RATE_LIMITED',
  work: createRunWork(),
  step: 'a second command with a request_id on one connection',
  isReachedByScript: true,
  script: {
    calls: { subscribe_job: [(call, run) => run.refuse(call, 'RATE_LIMITED')] },
    onSecondRequestId: (run) => run.markStepReached(),
  },
  expected: { status: ['completed', 'RATE_LIMITED'] },
}

const secondAnswerIgnored: Scenario = {
  id: 'second-answer-ignored',
  title: 'Each command is answered twice, the second time with something else',
  work: createRunWork(),
  step: FOLLOW_STEP,
  isReachedByScript: true,
  script: {
    calls: {
      submit_job: [
        (call, run) => {
          replyByDefault(call, run)
          if (call.transport === 'socket')
            replyAgain(call, {
              result: { ...createWrongSubmissionReply(run), client_request_id: call.data.client_request_id },
            })
        },
      ],
      subscribe_job: [
        (call, run) => {
          run.markStepReached()
          if (call.data.job_id === 'job_wrong')
            return run.addViolation('the client used the second answer to its submission', call.entry)
          acceptSubscription(call, run)
          replyAgain(call, { result: createWrongSubscriptionReply(call, run) })
          replyAgain(call, { error: toSocketError(findCallError('JOB_NOT_FOUND')) })
          sendEvents(call, run, ALL_SEQUENCES)
        },
      ],
    },
  },
  expected: EXPECT_ALL_EVENTS,
}

/** Answers a command again. */
function replyAgain(call: ClientCall, rest: JsonMap): void {
  sendReplyFrame(call, call.request_id, rest)
}

function createWrongSubmissionReply(run: ScenarioRun): JsonMap {
  const job = run.addJob('job_wrong', 'wf_greeting', [statusEvent('accepted'), failedEvent])
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

const unmatchedAnswerIgnored: Scenario = {
  id: 'unmatched-answer-ignored',
  title: 'Answers come that nobody asked for',
  work: createRunWork(),
  step: FOLLOW_STEP,
  script: {
    calls: {
      subscribe_job: [
        (call, run) => {
          sendReplyFrame(call, 'nobody-asked', { error: toSocketError(findCallError('JOB_NOT_FOUND')) })
          sendReplyFrame(call, 'nobody-asked-either', { result: createWrongSubscriptionReply(call, run) })
          acceptSubscription(call, run)
          sendEvents(call, run, ALL_SEQUENCES)
        },
      ],
    },
  },
  expected: EXPECT_ALL_EVENTS,
}

const HOLD_MS = 2_000

const answersOutOfOrder: Scenario = {
  id: 'answers-out-of-order',
  title: 'Two submissions are answered in the opposite order',
  work: createPairWork(),
  step: 'a second submission while the first one is not answered',
  isReachedByScript: true,
  keys: 2,
  script: {
    calls: {
      submit_job: (call, run) => {
        if (run.countOccurrence('pair') === 1) {
          const first = () => {
            if (run.countOccurrence('first answered') === 1) replyByDefault(call, run)
          }
          run.releaseHeldReply = first
          run.schedule(run.scaleTime(HOLD_MS, 500), first)
          return
        }
        if (!run.counts.has('first answered')) run.markStepReached()
        replyByDefault(call, run)
        run.releaseHeldReply()
      },
    },
  },
  expected: { status: ['completed'], value: ['Hello, Ada!', 'Hello, Bob!'] },
}

export const correlationScenarios = [requestIdUnique, secondAnswerIgnored, unmatchedAnswerIgnored, answersOutOfOrder]
