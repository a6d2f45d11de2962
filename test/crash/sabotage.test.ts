// The crash run can fail: it reports each part of the server that is switched off, by its effect.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FaultKind } from './evidence.ts'
import type { KindName } from './graphs.ts'
import { crash, type Sabotage } from './harness.ts'
import {
  TRIGGER_DROPPED,
  WITHOUT_CHECKPOINTS,
  WITHOUT_REPLAY,
  WITHOUT_SYNC,
  WITHOUT_TRIGGER,
  WITHOUT_VALUES,
} from './sabotage.ts'

/** The disabled part, the jobs that show it, and the expected finding. */
const SABOTAGES: Readonly<Record<string, readonly [Sabotage, readonly KindName[], FaultKind, RegExp]>> = {
  'without checkpoints': [
    WITHOUT_CHECKPOINTS,
    ['writing', 'each_writing'],
    'double',
    /not safe to run twice|had finished, and ran again/,
  ],
  'without the trigger, where jobs end once more': [
    WITHOUT_TRIGGER,
    ['fast', 'reading'],
    'contradiction',
    /was told another event|is something else now/,
  ],
  'without the trigger, where nothing comes of it': [
    TRIGGER_DROPPED,
    ['reading'],
    'contradiction',
    /a terminal job was changed, and nothing refused it/,
  ],
  'without bytes on disk': [WITHOUT_SYNC, ['reading'], 'loss', /1.* is answered with 500, where/],
  'without large values on disk': [WITHOUT_VALUES, ['passing'], 'loss', /it failed at null: interrupted/],
  'without replay': [WITHOUT_REPLAY, ['reading', 'each_reading'], 'gap', /an SSE follower got \d+ after \d+/],
}

describe('the crash run notices a server', { concurrency: 1 }, () => {
  for (const [name, [sabotage, kinds, kind, what]] of Object.entries(SABOTAGES)) {
    test(name, async () => {
      const { faults, wrong } = await crash({
        kills: 2,
        seed: `sabotage ${name}`,
        sabotage,
        kinds,
        last_wait_ms: 4_000,
      })
      assert.ok(
        faults.some((one) => one.kind === kind && what.test(one.what)),
        wrong.slice(0, 20).join('\n'),
      )
    })
  }
})
