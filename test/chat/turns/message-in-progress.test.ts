// The frames of a message that is being written: alternating thoughts and text show no parts of a credential.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MessageInProgress } from '../../../src/chat/turns/message-in-progress.ts'
import { Redactor } from '../../../src/redaction/redactor.ts'

const KEY = 'planted-key-4711-of-a-caller'
const place = { thread_id: 'thread', turn_id: 'turn', sequence: 2 }
const use = { model: 'led/model', input_tokens: 1, output_tokens: 1, cost: null, duration_ms: 1 }

/** The joined text of each kind after all parts and the end. */
function told(parts: readonly (readonly ['text' | 'thinking', string])[]): { text: string; thinking: string } {
  const redactor = new Redactor().forOwner('me')
  redactor.add(KEY, 'me')
  const writing = new MessageInProgress(place, redactor)
  const chunks = [
    ...parts.flatMap(([type, text]) => writing.take({ type, text })),
    ...writing.take({ type: 'end', finish_reason: 'stop', use }),
  ]
  const joined = (kind: boolean) => {
    let all = ''
    for (const { offset, content } of chunks.filter((chunk) => chunk.thinking === kind)) {
      assert.equal(offset, all.length, 'each piece stands behind the one before')
      all += content
    }
    return all
  }
  assert.equal(chunks.at(-1)!.done, true)
  return { text: joined(false), thinking: joined(true) }
}

test('a part that decides about much held text is processed in steps, with the same result', () => {
  const redactor = new Redactor().forOwner('me')
  redactor.add(`${'a'.repeat(60_000)}b`, 'me')
  const writing = new MessageInProgress(place, redactor)
  assert.equal(writing.isWaitingLong, false)
  assert.deepEqual(writing.take({ type: 'text', text: 'a'.repeat(59_000) }), [])
  assert.equal(writing.isWaitingLong, true)
  const work = writing.takeSteps({ type: 'text', text: 'c' })
  let steps = 0
  let step = work.next()
  for (; !step.done; step = work.next()) steps++
  assert.deepEqual(
    step.value.map(({ content }) => content),
    [`${'a'.repeat(59_000)}c`],
  )
  assert.ok(steps > 10, `${steps} steps`)
  assert.equal(writing.isWaitingLong, false)
})

test('thoughts and text that interrupt each other at any place show no credentials', () => {
  const [thought, text] = [`Hm, ${KEY}, or Bearer abc123def456?`, `It is ${KEY}, Basic dXNlcjpwYXNz!`]
  const whole = { thinking: 'Hm, [redacted], or Bearer [redacted]?', text: 'It is [redacted], Basic [redacted]!' }
  for (let at = 0; at <= thought.length; at++)
    for (let cut = 0; cut <= text.length; cut += 3) {
      const parts = [
        ['thinking', thought.slice(0, at)],
        ['text', text.slice(0, cut)],
        ['thinking', thought.slice(at)],
        ['text', text.slice(cut)],
      ] as const
      assert.deepEqual(told(parts), whole)
    }
})
