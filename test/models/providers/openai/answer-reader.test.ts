// The reader of answers in OpenAI's form.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OpenAiAnswerReader } from '../../../../src/models/providers/openai/answer-reader.ts'
import { MAX_CHOICES } from '../../../../src/models/providers/shared/provider-data-validation.ts'

test('an answer with more choices than a request may ask for is refused', () => {
  const take = (choices: readonly unknown[]) =>
    new OpenAiAnswerReader({ provider: 'acme', secret: 'KEY', credential: null }, undefined).readChunk({ choices })
  const choices = Array.from({ length: MAX_CHOICES }, (_, index) => ({ index, message: { content: 'a' } }))
  assert.deepEqual(take(choices), [{ type: 'text', text: 'a' }])
  assert.throws(() => take([...choices, 0]), /more than 128 choices/)
})
