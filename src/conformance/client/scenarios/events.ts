// The events of a job: twice, late, missing, unknown; and the snapshot that is right where they are not.
import { answer, follow, jobOf, tell } from '../answers.ts'
import { completed, GREETING, output, status } from '../life.ts'
import type { Scenario, Turn } from '../scenario.ts'
import { run } from '../tasks.ts'
import { ALL, COMPLETE, FOLLOWS, GREETED, sending } from './common.ts'

const duplicate: Scenario = {
  id: 'duplicate-event',
  title: 'Events come twice',
  work: run(),
  step: FOLLOWS,
  play: { calls: { subscribe_job: [sending(1, 2, 2, 3, 4, 3, 5, 5, 6)] } },
  expected: GREETED,
}

const reordered: Scenario = {
  id: 'reordered-events',
  title: 'Events come in another order',
  work: run(),
  step: FOLLOWS,
  play: { calls: { subscribe_job: [sending(1, 3, 2, 5, 4, 6)] } },
  expected: COMPLETE,
}

const unknownType: Scenario = {
  id: 'unknown-event-type',
  title: 'An event has a type that the client does not know',
  work: run(),
  step: FOLLOWS,
  life: () => [
    status('accepted'),
    status('running'),
    { type: 'job_weather', temperature: 21 },
    output(),
    { type: 'node_status_2', node_id: 7, status: { now: 'running' } },
    completed(),
  ],
  play: { calls: { subscribe_job: [(call, stage) => follow(call, jobOf(call, stage), stage)] } },
  expected: { status: ['completed'], value: GREETING, events: [1, 2, 4, 6] },
  judge: ({ calls }) =>
    calls.filter(({ name }) => name === 'subscribe_job').length > 2
      ? 'it asked again for events that were not missing'
      : null,
}

/** A client that asks for a snapshot gets one, and then the end. */
const snapshotThenEnd: Turn = (call, stage) => {
  answer(call, stage)
  stage.after(20, () => tell(stage, jobOf(call, stage), [6]))
}

const gap: Scenario = {
  id: 'gap-not-filled',
  title: 'An event is missing, and does not come',
  work: run(),
  step: FOLLOWS,
  play: { calls: { subscribe_job: [sending(1, 2, 3, 5)], get_job_snapshot: snapshotThenEnd } },
  expected: COMPLETE,
}

const HEAL_MS = 80

const heals: Scenario = {
  id: 'gap-heals',
  title: 'An event is missing, and comes after all',
  work: run(),
  step: FOLLOWS,
  play: {
    calls: {
      subscribe_job: [
        (call, stage) => {
          sending(1, 2, 3, 5)(call, stage)
          stage.after(HEAL_MS, () => tell(stage, jobOf(call, stage), [4, 6]))
        },
      ],
    },
  },
  expected: COMPLETE,
}

const snapshotWins: Scenario = {
  id: 'snapshot-wins',
  title: 'The last output event is not what the snapshot says',
  work: run(),
  step: FOLLOWS,
  life: () => [status('accepted'), status('running'), output('Hello, '), output('Hello, draft!'), completed()],
  play: { calls: { subscribe_job: [(call, stage) => follow(call, jobOf(call, stage), stage)] } },
  expected: { status: ['completed'], value: GREETING, events: [1, 2, 3, 4, 5] },
}

const final: Scenario = {
  id: 'terminal-is-final',
  title: 'Older events come again after the end',
  work: run(),
  step: FOLLOWS,
  play: { calls: { subscribe_job: [sending(...ALL, 2, 3)] } },
  expected: GREETED,
}

export const events = [duplicate, reordered, unknownType, gap, heals, snapshotWins, final]
