// Silence, pings, and the two encodings.
import { accept, follow, jobOf, send, tell } from '../answers.ts'
import { greetingLife } from '../life.ts'
import type { Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'
import { run } from '../tasks.ts'
import { ALL, COMPLETE, FOLLOWS, GREETED, sending } from './common.ts'

const halfOpen: Scenario = {
  id: 'half-open',
  title: 'The socket falls silent and stays open',
  work: run(),
  step: FOLLOWS,
  play: {
    calls: {
      subscribe_job: [
        (call, stage) => {
          sending(1, 2)(call, stage)
          call.connection!.silence()
        },
      ],
    },
  },
  expected: COMPLETE,
  patience_ms: 90_000,
}

const PONG_MS = 5_000

const ping: Scenario = {
  id: 'ping-answered',
  title: 'The server pings in both ways and waits for an answer',
  work: run(),
  step: FOLLOWS,
  play: {
    calls: {
      subscribe_job: [
        (call, stage) => {
          accept(call, stage)
          send(call, stage, [1, 2, 3])
          stage.counts.set('pinged', 1)
          call.connection!.send({ type: 'ping', ts: 1_768_469_400_000 })
          call.connection!.ping()
          stage.after(stage.paced(PONG_MS, 400), () => {
            if (stage.counts.has('pinged'))
              stage.violate('neither the ping of the protocol nor the ping frame was answered')
          })
        },
      ],
    },
    pong: goOn,
    frame: (_connection, frame, stage) => {
      if (frame.type === 'pong') goOn(_connection, stage)
      return false
    },
  },
  expected: GREETED,
}

function goOn(_connection: unknown, stage: Stage): void {
  const [job] = stage.followers.keys()
  if (job && stage.counts.delete('pinged')) tell(stage, job, [4, 5, 6])
}

const VALUE = {
  text: 'Grüße, Ада! 你好 🎉',
  numbers: [0, -1, 255, 65_536, 2 ** 40, -(2 ** 40), 1.5, 1e300],
  flags: [true, false, null],
  nested: { list: [[], {}, { deep: { deeper: ['x'] } }] },
  long: 'x'.repeat(70_000),
}

const messagepack: Scenario = {
  id: 'messagepack-first',
  title: 'The output has every kind of value, in MessagePack',
  work: run(),
  step: FOLLOWS,
  life: () => greetingLife(VALUE),
  play: { calls: { subscribe_job: [(call, stage) => follow(call, jobOf(call, stage), stage)] } },
  expected: { status: ['completed'], value: VALUE, events: ALL },
}

const textMode: Scenario = {
  id: 'text-mode',
  title: 'The client asks for JSON text',
  work: run({ encoding: 'json-text' }),
  step: 'set_mode with the mode text',
  late: true,
  play: {
    frame: (connection, frame, stage) => {
      if (frame.command !== 'set_mode') return false
      stage.reach()
      connection.send({ type: 'ping', ts: 1_768_469_400_000 })
      return false
    },
  },
  expected: GREETED,
}

export const keepAlive = [halfOpen, ping, messagepack, textMode]
