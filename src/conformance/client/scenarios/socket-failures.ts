// Scenarios about sockets that break, fall silent, or are closed or refused.
import {
  acceptSubscription,
  appendEvents,
  broadcastEvents,
  findJobOfCall,
  replyByDefault,
  replySubscription,
  sendEvents,
} from '../default-replies.ts'
import type { CallHandler, Scenario } from '../scenario.ts'
import type { ScenarioRun } from '../scenario-run.ts'
import { greetingEvents, statusEvent } from '../scripted-events.ts'
import { createCancelWork, createRunWork } from '../tasks.ts'
import {
  CANCEL_STEP,
  EXPECT_ALL_EVENTS,
  EXPECT_EVENTS_OR_SNAPSHOT,
  EXPECT_RISING_EVENTS,
  FOLLOW_STEP,
  SUBMIT_STEP,
} from './expectations.ts'

/** Answers a subscription, sends these events, and breaks the socket. */
const sendAndDrop =
  (positions: readonly number[], stored = 0): CallHandler =>
  (call, run) => {
    const job = findJobOfCall(call, run)
    job.stored = Math.max(job.stored, stored)
    acceptSubscription(call, run)
    sendEvents(call, run, positions)
    call.connection!.drop()
  }

function dropAllConnections(run: ScenarioRun): void {
  for (const connection of run.connections) if (connection.isOpen) connection.drop()
}

const lostBeforeSubscriptionAnswer: Scenario = {
  id: 'lost-before-subscription-answer',
  title: 'The socket breaks before the subscription is answered',
  work: createRunWork(),
  step: FOLLOW_STEP,
  script: { calls: { subscribe_job: [(call) => call.breakBeforeReply()] } },
  expected: EXPECT_ALL_EVENTS,
}

const lostAfterAcknowledgement: Scenario = {
  id: 'lost-after-acknowledgement',
  title: 'Every socket breaks after the submission is acknowledged',
  work: createRunWork(),
  step: SUBMIT_STEP,
  script: {
    calls: {
      submit_job: [
        (call, run) => {
          replyByDefault(call, run)
          if (run.connections.some(({ isOpen }) => isOpen)) dropAllConnections(run)
          else run.counts.set('drop the first', 1)
        },
      ],
    },
    onOpen: (connection, run) => {
      if (run.counts.delete('drop the first')) connection.drop()
    },
  },
  expected: EXPECT_ALL_EVENTS,
}

const lostDuringReplay: Scenario = {
  id: 'lost-during-replay',
  title: 'The socket breaks in the middle of the replay',
  work: createRunWork(),
  step: FOLLOW_STEP,
  script: { calls: { subscribe_job: [sendAndDrop([1, 2], 5)] } },
  expected: EXPECT_EVENTS_OR_SNAPSHOT,
}

const lostBetweenEvents: Scenario = {
  id: 'lost-between-events',
  title: 'The socket breaks between two live events',
  work: createRunWork(),
  step: FOLLOW_STEP,
  script: {
    calls: {
      subscribe_job: [
        (call, run) => {
          const job = acceptSubscription(call, run)
          sendEvents(call, run, [1, 2])
          run.schedule(20, () => {
            broadcastEvents(run, job, [3, 4])
            dropAllConnections(run)
          })
        },
      ],
    },
  },
  expected: EXPECT_EVENTS_OR_SNAPSHOT,
}

const lostBeforeTerminal: Scenario = {
  id: 'lost-before-terminal',
  title: 'The socket breaks right before the end of the job',
  work: createRunWork(),
  step: FOLLOW_STEP,
  script: {
    calls: {
      subscribe_job: [
        (call, run) => {
          sendAndDrop([1, 2, 3, 4, 5])(call, run)
          findJobOfCall(call, run).stored = 6
        },
      ],
    },
  },
  expected: EXPECT_EVENTS_OR_SNAPSHOT,
}

const lostAfterCancel: Scenario = {
  id: 'lost-after-cancel',
  title: 'The socket breaks after the cancellation is acknowledged',
  work: createCancelWork('running'),
  step: CANCEL_STEP,
  createEvents: () => [statusEvent('accepted'), statusEvent('running')],
  script: {
    calls: {
      request_job_cancellation: [
        (call, run) => {
          const job = findJobOfCall(call, run)
          appendEvents(run, job, [statusEvent('cancel_requested')])
          const snapshot = job.snapshot()
          call.reply({ job_id: job.job_id, status: 'cancel_requested', cancel_requested: true, snapshot })
          dropAllConnections(run)
          run.markStepReached()
        },
      ],
      subscribe_job: (call, run) => {
        const job = findJobOfCall(call, run)
        replySubscription(call, job, run)
        if (run.isStepReached)
          run.schedule(40, () => (job.isTerminal ? undefined : appendEvents(run, job, greetingEvents().slice(5))))
      },
    },
  },
  isReachedByScript: true,
  expected: EXPECT_RISING_EVENTS,
}

const lostBeforeCancelAnswer: Scenario = {
  id: 'lost-before-cancel-answer',
  title: 'A cancellation is lost before it arrives',
  work: createCancelWork('running'),
  step: CANCEL_STEP,
  createEvents: () => [statusEvent('accepted'), statusEvent('running')],
  script: { calls: { request_job_cancellation: [(call) => call.breakBeforeReply()] } },
  expected: { status: ['cancelled'], value: null, events: 'rising' },
}

const restart: Scenario = {
  id: 'restart',
  title: 'The server restarts and closes the socket with 1012',
  work: createRunWork(),
  step: FOLLOW_STEP,
  script: {
    calls: {
      subscribe_job: [
        (call, run) => {
          acceptSubscription(call, run)
          sendEvents(call, run, [1, 2, 3])
          call.connection!.close(1012, 'restarting')
        },
      ],
    },
  },
  expected: EXPECT_EVENTS_OR_SNAPSHOT,
}

const REFUSAL_WINDOW_MS = 500
const MAX_HANDSHAKES = 10

const backoff: Scenario = {
  id: 'backoff',
  title: 'Handshakes are refused with 503 for half a second',
  work: createRunWork(),
  step: 'a handshake for /ws',
  script: {
    onUpgrade: (run) => {
      run.markStepReached()
      const times = run.countOccurrence('handshake')
      if (times === 1) run.schedule(REFUSAL_WINDOW_MS, () => run.counts.set('window over', 1))
      if (run.counts.has('window over')) return null
      if (times > MAX_HANDSHAKES) run.addViolation(`the client tried ${times} times within ${REFUSAL_WINDOW_MS} ms`)
      return 503
    },
  },
  expected: EXPECT_ALL_EVENTS,
}

export const socketScenarios = [
  lostBeforeSubscriptionAnswer,
  lostAfterAcknowledgement,
  lostDuringReplay,
  lostBetweenEvents,
  lostBeforeTerminal,
  lostAfterCancel,
  lostBeforeCancelAnswer,
  restart,
  backoff,
]
