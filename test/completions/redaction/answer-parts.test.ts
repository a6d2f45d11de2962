// Parts of an answer that are held because a secret of their caller has the same prefix.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnswerPart } from '../../../src/completions/answers/generator.ts'
import { redactAnswerParts } from '../../../src/completions/redaction/answer-parts.ts'
import { Redactor } from '../../../src/redaction/redactor.ts'
import { type Steps, TimeSliceScheduler } from '../../../src/shared/time-slices.ts'

test('a short part that decides about a long held text is redacted in time slices', async () => {
  const redactor = new Redactor()
  redactor.add(`${'a'.repeat(60_000)}b`, 'me')
  const slices = new TimeSliceScheduler()
  let steps = 0
  const counting = {
    run: <T>(owner: string, work: Steps<T>) => slices.run(owner, counted(work)),
    turnsOf: (owner: string) => slices.turnsOf(owner),
  }
  function* counted<T>(work: Steps<T>): Steps<T> {
    for (let step = work.next(); ; step = work.next()) {
      if (step.done) return step.value
      steps++
      yield
    }
  }
  async function* parts(): AsyncGenerator<AnswerPart, void, void> {
    for (let at = 0; at < 50; at++) yield { type: 'text', text: 'a'.repeat(1_000) }
    yield { type: 'text', text: 'c' }
  }
  let told = ''
  for await (const part of redactAnswerParts(parts(), {
    redactor: redactor.forOwner('me'),
    slices: counting,
    user: 'me',
  }))
    if (part.type === 'text') told += part.text
  assert.equal(told, `${'a'.repeat(50_000)}c`)
  assert.ok(steps > 50, `${steps} steps`)
})

test('texts that are held to the end of an answer are ended in time slices', async () => {
  const redactor = new Redactor()
  for (let at = 0; at < 40; at++) redactor.add(`${'a'.repeat(100)}${at + 1_000}`, 'me')
  redactor.add(`${'a'.repeat(10_000)}b`, 'me')
  const text = `${'a'.repeat(900)}Z`
  const scheduler = new TimeSliceScheduler()
  let runs = 0
  const slices = {
    run: <T>(owner: string, work: Steps<T>) => {
      runs++
      return scheduler.run(owner, work)
    },
    turnsOf: (owner: string) => scheduler.turnsOf(owner),
  }
  async function* parts(): AsyncGenerator<AnswerPart, void, void> {
    yield { type: 'text', text }
    for (let index = 0; index < 9; index++) yield { type: 'tool_call', index, arguments: text }
  }
  const told: string[] = []
  for await (const part of redactAnswerParts(parts(), { redactor: redactor.forOwner('me'), slices, user: 'me' })) {
    if (part.type === 'text') told.push(part.text)
    if (part.type === 'tool_call' && part.arguments !== '') told.push(part.arguments)
  }
  assert.deepEqual(told, Array(10).fill(text))
  assert.equal(runs, 10)
})
