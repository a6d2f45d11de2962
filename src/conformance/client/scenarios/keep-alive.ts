// Scenarios about silence, pings and the two encodings.
import {
  acceptSubscription,
  broadcastEvents,
  findJobOfCall,
  replySubscription,
  sendEvents,
} from '../default-replies.ts'
import type { Scenario } from '../scenario.ts'
import type { ScenarioRun } from '../scenario-run.ts'
import { greetingEvents } from '../scripted-events.ts'
import { createRunWork } from '../tasks.ts'
import { ALL_SEQUENCES, EXPECT_ALL_EVENTS, EXPECT_EVENTS_OR_SNAPSHOT, FOLLOW_STEP, sendOnly } from './expectations.ts'

const halfOpen: Scenario = {
  id: 'half-open',
  title: 'The socket falls silent and stays open',
  work: createRunWork(),
  step: FOLLOW_STEP,
  script: {
    calls: {
      subscribe_job: [
        (call, run) => {
          sendOnly(1, 2)(call, run)
          call.connection!.fallSilent()
        },
      ],
    },
  },
  expected: EXPECT_EVENTS_OR_SNAPSHOT,
  extra_timeout_ms: 90_000,
}

const PONG_MS = 5_000

const pingAnswered: Scenario = {
  id: 'ping-answered',
  title: 'The server pings in both ways and waits for an answer',
  work: createRunWork(),
  step: FOLLOW_STEP,
  script: {
    calls: {
      subscribe_job: [
        (call, run) => {
          acceptSubscription(call, run)
          sendEvents(call, run, [1, 2, 3])
          run.counts.set('pinged', 1)
          call.connection!.send({ type: 'ping', ts: 1_768_469_400_000 })
          call.connection!.ping()
          run.schedule(run.scaleTime(PONG_MS, 400), () => {
            if (run.counts.has('pinged'))
              run.addViolation('the client answered neither the ping of the protocol nor the ping frame')
          })
        },
      ],
    },
    onPong: resumeAfterPong,
    onFrame: (_connection, frame, run) => {
      if (frame.type === 'pong') resumeAfterPong(_connection, run)
      return false
    },
  },
  expected: EXPECT_ALL_EVENTS,
}

function resumeAfterPong(_connection: unknown, run: ScenarioRun): void {
  const [job] = run.followersByJob.keys()
  if (job && run.counts.delete('pinged')) broadcastEvents(run, job, [4, 5, 6])
}

const EVERY_KIND_OF_VALUE = {
  text: 'Grüße, Ада! 你好 🎉',
  numbers: [0, -1, 255, 65_536, 2 ** 40, -(2 ** 40), 1.5, 1e300],
  flags: [true, false, null],
  nested: { list: [[], {}, { deep: { deeper: ['x'] } }] },
  long: 'x'.repeat(70_000),
}

const messagepackFirst: Scenario = {
  id: 'messagepack-first',
  title: 'The output has every kind of value, in MessagePack',
  work: createRunWork(),
  step: FOLLOW_STEP,
  createEvents: () => greetingEvents(EVERY_KIND_OF_VALUE),
  script: { calls: { subscribe_job: [(call, run) => replySubscription(call, findJobOfCall(call, run), run)] } },
  expected: { status: ['completed'], value: EVERY_KIND_OF_VALUE, events: ALL_SEQUENCES },
}

const textMode: Scenario = {
  id: 'text-mode',
  title: 'The client asks for JSON text',
  work: createRunWork({ encoding: 'json-text' }),
  step: 'set_mode with the mode text',
  isReachedByScript: true,
  script: {
    onFrame: (connection, frame, run) => {
      if (frame.command !== 'set_mode') return false
      run.markStepReached()
      connection.send({ type: 'ping', ts: 1_768_469_400_000 })
      return false
    },
  },
  expected: EXPECT_ALL_EVENTS,
}

export const keepAliveScenarios = [halfOpen, pingAnswered, messagepackFirst, textMode]
