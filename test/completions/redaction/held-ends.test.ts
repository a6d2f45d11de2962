// The end of a streamed answer with many texts that are held back: each is ended in steps.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RedactedEvents } from '../../../src/completions/redaction/redacted-events.ts'
import { Redactor } from '../../../src/redaction/redactor.ts'
import type { Steps } from '../../../src/shared/time-slices.ts'
import { chunksIn } from '../kit.ts'

const CHOICES = 20
const HELD_LENGTH = 5_000
const DONE = 'data: [DONE]\n\n'

/** Many secrets begin alike, so that a text is held back for as long as the longest of them. */
const ALIKE = Array.from({ length: 40 }, (_, at) => `${'a'.repeat(100)}${at + 1_000}`)
const redactor = new Redactor([])
for (const secret of [...ALIKE, `${'a'.repeat(2 * HELD_LENGTH)}b`]) redactor.add(secret, 'a')
const own = redactor.forOwner('a')
const HELD = `${'a'.repeat(HELD_LENGTH)}Z`
/** More than the positions of one step. */
const MANY_POSITIONS = 1_000

function createEvent(index: number): string {
  return `data: ${JSON.stringify({ id: 'x', choices: [{ index, delta: { content: HELD } }] })}\n\n`
}

for (const last of [DONE, ': the stream ends without a last event\n\n'])
  test(`all texts are ended in steps: ${JSON.stringify(last)}`, async () => {
    let steps = 0
    async function begin<T>(_owner: string, work: Steps<T>): Promise<T> {
      for (steps = 0; ; steps++) {
        const step = work.next()
        if (step.done) return step.value
      }
    }
    const pieces = [...Array.from({ length: CHOICES }, (_, index) => createEvent(index)), last]
    const source = { next: async () => pieces.shift() ?? null, close() {} }
    const events = new RedactedEvents(source, { redactor: own, owner: 'a', slices: { begin } })
    let text = ''
    let most = 0
    for (let piece = await events.next(); piece !== null; piece = await events.next()) {
      text += piece
      most = Math.max(most, steps)
    }
    for (let index = 0; index < CHOICES; index++) {
      const own = chunksIn(text).flatMap((chunk) =>
        chunk.choices.filter((one: { index: number }) => one.index === index),
      )
      assert.equal(own.map(({ delta }) => delta.content ?? '').join(''), HELD)
    }
    assert.ok(most >= (CHOICES * HELD_LENGTH) / MANY_POSITIONS, `${most} steps`)
  })
