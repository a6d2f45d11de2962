// The time of one step if an owner has the maximum number of secrets, all with the same prefix: names of members and
// answers of models are redacted in small steps, like long texts.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AnswerPart } from '../../src/completions/answers/generator.ts'
import { redactAnswerParts } from '../../src/completions/redaction/answer-parts.ts'
import { Redactor } from '../../src/redaction/redactor.ts'
import { runToCompletion, type Steps, TimeSliceScheduler } from '../../src/shared/time-slices.ts'
import { isSmallValue } from '../../src/shared/value-size.ts'

const OWNER = 'owner'
const secretOf = (at: number) => `${'ab'.repeat(20)}${String(at).padStart(4, '0')}`

function known(): Redactor {
  const redactor = new Redactor()
  for (let at = 0; at < 10; at++) redactor.add(secretOf(at), OWNER)
  return redactor.forOwner(OWNER)
}

/** The number of steps, and their result. */
function counted<T>(steps: Steps<T>): [count: number, value: T] {
  for (let count = 1; ; count++) {
    const step = steps.next()
    if (step.done) return [count, step.value]
  }
}

describe('names of members', () => {
  const names = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`${'ab'.repeat(150)}${at}`, at]))

  test('count towards the size of a value like texts', () => {
    assert.equal(isSmallValue(names), false)
    assert.equal(isSmallValue({ [secretOf(1)]: 1 }), true)
  })

  test('are redacted in steps', () => {
    const [steps, value] = counted(known().valueSteps({ ...names, [secretOf(3)]: 'of a secret' }))
    assert.ok(steps > 30, `${steps} steps`)
    assert.equal((value as Record<string, unknown>)['[redacted]'], 'of a secret')
  })
})

describe('an answer', () => {
  const text = `${'ab'.repeat(32_000)} and so on`

  test('is redacted in steps if secrets begin at each of its positions', () => {
    const [steps, told] = counted(
      known()
        .createEagerReplacer()
        .pushSteps(`${text} ${secretOf(7)} ${text}`),
    )
    assert.ok(steps > 100, `${steps} steps`)
    assert.equal(told.length, 2 * text.length + '  [redacted]'.length)
    assert.equal(
      told,
      runToCompletion(
        known()
          .createEagerReplacer()
          .pushSteps(`${text} ${secretOf(7)} ${text}`),
      ),
    )
  })

  test('does not delay others, in one part or in many', async () => {
    for (const length of [text.length, 100]) {
      const slices = new TimeSliceScheduler(0)
      let turns = 0
      const count = () => {
        turns++
        immediate = setImmediate(count)
      }
      let immediate = setImmediate(count)
      let told = ''
      for await (const part of redactAnswerParts(partsOf(text, length), { redactor: known(), slices, user: OWNER }))
        if (part.type === 'text') told += part.text
      clearImmediate(immediate)
      assert.equal(told, text)
      assert.ok(turns > 50, `${turns} turns`)
    }
  })
})

async function* partsOf(text: string, length: number): AsyncGenerator<AnswerPart, void, void> {
  for (let at = 0; at < text.length; at += length) yield { type: 'text', text: text.slice(at, at + length) }
}
