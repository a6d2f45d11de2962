// Errors of servers that quote very long words, such as a user's input: the search for the key takes linear time.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createErrorTextRedactor } from '../../src/models/providers/shared/error-text-redaction.ts'
import { leastProcessorMs } from '../helpers/processor.ts'
import { KEY } from './openai-kit.ts'

const words = createErrorTextRedactor(KEY)

test('a long word in an error of a server is searched for the key in a short time', () => {
  const text = `Bad input: ${'a'.repeat(40_000)}`
  const took = leastProcessorMs(60, () => assert.equal(words(text), text))
  assert.ok(took < 60, `it took ${took} ms of the processor`)
})

test('shortened keys are masked at the start of any word', () => {
  assert.equal(words('key sk-ab****wxyz, (sk-ab...wxyz) and "a…b"'), 'key ***, (***) and "a…b"')
  assert.equal(words('ab***cd***ef'), '******ef')
})
