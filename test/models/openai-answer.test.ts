// What is made of an answer in OpenAI's form.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MOST_CHOICES } from '../../src/models/checked.ts'
import { OpenAiAnswer } from '../../src/models/openai-answer.ts'

test('there are no more choices than can be asked for: there may be millions', () => {
  const take = (choices: readonly unknown[]) =>
    new OpenAiAnswer({ provider: 'acme', secret: 'KEY', credential: null }, undefined).take({ choices })
  const choices = Array.from({ length: MOST_CHOICES }, (_, index) => ({ index, message: { content: 'a' } }))
  assert.deepEqual(take(choices), [{ type: 'text', text: 'a' }])
  assert.throws(() => take([...choices, 0]), /more than 128 choices/)
})
