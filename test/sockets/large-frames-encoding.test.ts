// Encoding a large frame in steps gives the same bytes as encoding it at once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { encodeSocketFrame } from '../../src/sockets/frames/codec.ts'
import { encodeFrameSteps } from '../../src/sockets/frames/large-frames.ts'

const list = (count: number, item: (at: number) => unknown) => Array.from({ length: count }, (_, at) => item(at))
const record = (count: number, item: (at: number) => unknown) =>
  Object.fromEntries(list(count, (at) => [`key ${at}`, item(at)]) as [string, unknown][])

const VALUES: Readonly<Record<string, unknown>> = {
  'a small value': { a: 1, nothing: undefined, b: [null] },
  'lists around each head': [15, 16, 17, 65_535, 65_536].map((count) => list(count, (at) => at)),
  'records around each head': [15, 16, 65_536].map((count) => record(count, (at) => ({ at }))),
  'members that are not there': {
    ...record(9_000, (at) => (at % 3 === 0 ? undefined : at)),
    rest: list(9_000, String),
  },
  'bytes in a large list': [...list(9_000, (at) => ({ at })), Buffer.alloc(10, 3), new Uint8Array(9_000)],
  'a long text': { text: 'é😀"\n'.repeat(200_000), more: list(5_000, () => 'x') },
  'special keys': { ...record(5_000, String), ['__proto__']: list(5_000, String) },
}

for (const mode of ['binary', 'text'] as const) {
  for (const [name, value] of Object.entries(VALUES)) {
    test(`${name}, ${mode}`, () => {
      const frame = { type: 'output_update', value }
      assert.ok(
        Buffer.from(encodeSocketFrame(frame, mode, false)).equals(runToCompletion(encodeFrameSteps(frame, mode))),
      )
    })
  }
}
