// Scenarios about a job's events: duplicate, late, missing and unknown ones, and the snapshot that overrides them.
import { broadcastEvents, findJobOfCall, replyByDefault, replySubscription } from '../default-replies.ts'
import type { CallHandler, Scenario } from '../scenario.ts'
import { completedEvent, GREETING, outputEvent, statusEvent } from '../scripted-events.ts'
import { createRunWork } from '../tasks.ts'
import { ALL_SEQUENCES, EXPECT_ALL_EVENTS, EXPECT_EVENTS_OR_SNAPSHOT, FOLLOW_STEP, sendOnly } from './expectations.ts'

const duplicateEvent: Scenario = {
  id: 'duplicate-event',
  title: 'Events come twice',
  work: createRunWork(),
  step: FOLLOW_STEP,
  script: { calls: { subscribe_job: [sendOnly(1, 2, 2, 3, 4, 3, 5, 5, 6)] } },
  expected: EXPECT_ALL_EVENTS,
}

const reorderedEvents: Scenario = {
  id: 'reordered-events',
  title: 'Events come in another order',
  work: createRunWork(),
  step: FOLLOW_STEP,
  script: { calls: { subscribe_job: [sendOnly(1, 3, 2, 5, 4, 6)] } },
  expected: EXPECT_EVENTS_OR_SNAPSHOT,
}

const unknownEventType: Scenario = {
  id: 'unknown-event-type',
  title: 'An event has a type that the client does not know',
  work: createRunWork(),
  step: FOLLOW_STEP,
  createEvents: () => [
    statusEvent('accepted'),
    statusEvent('running'),
    { type: 'job_weather', temperature: 21 },
    outputEvent(),
    { type: 'node_status_2', node_id: 7, status: { now: 'running' } },
    completedEvent(),
  ],
  script: { calls: { subscribe_job: [(call, run) => replySubscription(call, findJobOfCall(call, run), run)] } },
  expected: { status: ['completed'], value: GREETING, events: [1, 2, 4, 6] },
  findFailure: ({ calls }) =>
    calls.filter(({ name }) => name === 'subscribe_job').length > 2
      ? 'the client asked again for events that were not missing'
      : null,
}

/** Sends a requested snapshot, and then the end. */
const replySnapshotThenEnd: CallHandler = (call, run) => {
  replyByDefault(call, run)
  run.schedule(20, () => broadcastEvents(run, findJobOfCall(call, run), [6]))
}

const gapNotFilled: Scenario = {
  id: 'gap-not-filled',
  title: 'An event is missing, and does not come',
  work: createRunWork(),
  step: FOLLOW_STEP,
  script: { calls: { subscribe_job: [sendOnly(1, 2, 3, 5)], get_job_snapshot: replySnapshotThenEnd } },
  expected: EXPECT_EVENTS_OR_SNAPSHOT,
}

const GAP_FILL_DELAY_MS = 80

const gapHeals: Scenario = {
  id: 'gap-heals',
  title: 'An event is missing, and comes after all',
  work: createRunWork(),
  step: FOLLOW_STEP,
  script: {
    calls: {
      subscribe_job: [
        (call, run) => {
          sendOnly(1, 2, 3, 5)(call, run)
          run.schedule(GAP_FILL_DELAY_MS, () => broadcastEvents(run, findJobOfCall(call, run), [4, 6]))
        },
      ],
    },
  },
  expected: EXPECT_EVENTS_OR_SNAPSHOT,
}

const snapshotWins: Scenario = {
  id: 'snapshot-wins',
  title: 'The last output event is not what the snapshot says',
  work: createRunWork(),
  step: FOLLOW_STEP,
  createEvents: () => [
    statusEvent('accepted'),
    statusEvent('running'),
    outputEvent('Hello, '),
    outputEvent('Hello, draft!'),
    completedEvent(),
  ],
  script: { calls: { subscribe_job: [(call, run) => replySubscription(call, findJobOfCall(call, run), run)] } },
  expected: { status: ['completed'], value: GREETING, events: [1, 2, 3, 4, 5] },
}

const terminalIsFinal: Scenario = {
  id: 'terminal-is-final',
  title: 'Older events come again after the end',
  work: createRunWork(),
  step: FOLLOW_STEP,
  script: { calls: { subscribe_job: [sendOnly(...ALL_SEQUENCES, 2, 3)] } },
  expected: EXPECT_ALL_EVENTS,
}

export const eventScenarios = [
  duplicateEvent,
  reorderedEvents,
  unknownEventType,
  gapNotFilled,
  gapHeals,
  snapshotWins,
  terminalIsFinal,
]
