// Streams with alternating choices, cut anywhere: no choice shows a key, and each shows all other text of its server.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RedactedEvents } from '../../../src/completions/redaction/redacted-events.ts'
import { Redactor } from '../../../src/redaction/redactor.ts'
import { TimeSliceScheduler } from '../../../src/shared/time-slices.ts'
import { scaled } from '../../helpers/scale.ts'
import { chunksIn } from '../kit.ts'

const KEY = 'sk-Planted/key+4711-9f8e7d6c5b4a/3210zyxw'
const DONE = 'data: [DONE]\n\n'
const FIELDS = ['content', 'reasoning', 'anything'] as const

/** The end of a piece of a choice's text, and the number of keep-alive events after it. */
interface Turn {
  readonly choice: number
  readonly length: number
  readonly pings: number
}

const choices = fc.array(
  fc
    .array(fc.constantFrom('hello ', 'sk-', 'sk-Pla', KEY, KEY.slice(0, 25), '"q" \\ \n', 'é'), { maxLength: 5 })
    .map((texts) => `${texts.join('')}.`),
  { minLength: 1, maxLength: 24 },
)
const turns = fc.array(
  fc.record({ choice: fc.nat({ max: 23 }), length: fc.integer({ min: 1, max: 9 }), pings: fc.nat({ max: 20 }) }),
  { maxLength: 60 },
)

/** The given pieces, and then the rest of each text. */
function eventsOf(texts: readonly string[], field: string, played: readonly Turn[]): string[] {
  const rests = [...texts]
  const last = texts.map((text, choice) => ({ choice, length: text.length, pings: 0 }))
  return [...played, ...last].flatMap(({ choice, length, pings }) => {
    const index = choice % texts.length
    const text = rests[index]!.slice(0, length)
    rests[index] = rests[index]!.slice(length)
    const chunk = { id: 'x', choices: [{ index, delta: { [field]: text } }] }
    return text === '' ? [] : [`data: ${JSON.stringify(chunk)}\n\n`, ...Array(pings).fill(': ping\n\n')]
  })
}

const safety = { redactor: new Redactor([KEY]), owner: 'a', slices: new TimeSliceScheduler() }

async function told(pieces: readonly string[]): Promise<string> {
  const left = [...pieces]
  const events = new RedactedEvents({ next: async () => left.shift() ?? null, close() {} }, safety)
  let text = ''
  for (let piece = await events.next(); piece !== null; piece = await events.next()) text += piece
  return text
}

test('no choice shows a key, and each shows all other text', async () => {
  await fc.assert(
    fc.asyncProperty(choices, fc.constantFrom(...FIELDS), turns, async (texts, field, played) => {
      const events = [...eventsOf(texts, field, played), DONE]
      const text = await told(events)
      assert.ok(text.endsWith(DONE))
      for (const [index, whole] of texts.entries()) {
        const own = chunksIn(text).flatMap((chunk) =>
          chunk.choices.filter((one: { index: number }) => one.index === index),
        )
        const said = own.map(({ delta }) => delta[field] ?? '').join('')
        assert.ok(!said.includes(KEY.slice(26)), said)
        if (whole.includes(KEY)) assert.match(said, /\[redacted\].*\.$/s)
        else assert.equal(said, whole)
      }
      const isPlain = !texts.some((whole) => whole.includes(KEY))
      if (isPlain && texts.length === 1 && played.every(({ pings }) => pings === 0)) assert.equal(text, events.join(''))
    }),
    { numRuns: scaled(300) },
  )
})
