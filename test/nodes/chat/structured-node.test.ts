// chat.Structured: requests for JSON, accepted answers, repeated requests, and typed outputs.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Capability } from '../../../src/models/provider.ts'
import { pricedProvider } from '../../helpers/priced-provider.ts'
import { scaled } from '../../helpers/scale.ts'
import { declared, fired, needsOf, problems, services } from '../chat-kit.ts'
import { soon } from '../soon.ts'

const schema = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    age: { type: ['integer', 'null'] },
    tags: { type: 'array', items: { type: 'string' } },
  },
  required: ['name'],
}
const data = { model: 'priced/small', schema, prompt: 'Who?' }

/** A provider that gives these answers one after the other. */
function answering(answers: readonly string[], capabilities: readonly Capability[] = []) {
  return pricedProvider({ capabilities, answer: (_, at) => ({ pieces: [answers[at] ?? 'no more'] }) })
}

async function asked(answers: readonly string[], more: object = {}, capabilities: readonly Capability[] = []) {
  const provider = answering(answers, capabilities)
  const result = await fired('chat.Structured', { ...data, ...more }, services([provider]))
  return { ...result, requests: provider.calls.map(({ request }) => request) }
}

describe('chat.Structured', () => {
  test('gives the object, its usage, and properties as typed outputs', async () => {
    const provider = answering(['{"name": "Ada", "age": 36}'])
    const dynamic_outputs = { name: declared('str'), age: declared('int'), tags: declared('list') }
    const { outputs } = await fired('chat.Structured', data, services([provider]), { dynamic_outputs })
    const { usage, ...rest } = outputs
    assert.deepEqual(rest, { name: 'Ada', age: 36, value: { name: 'Ada', age: 36 } })
    assert.deepEqual(
      { ...(usage as object), input_tokens: 0, total_tokens: 0, cost: 0 },
      { model: 'priced/small', input_tokens: 0, output_tokens: 4, total_tokens: 0, cost: 0, currency: 'USD', calls: 1 },
    )
  })

  test('gives null only if the declared type allows it', async () => {
    const age = (type: object) =>
      fired('chat.Structured', data, services([answering(['{"name": "Ada", "age": null}'])]), {
        dynamic_outputs: { age: type },
      })
    assert.equal('age' in (await age(declared('int'))).outputs, false)
    assert.equal((await age(declared('int', { optional: true }))).outputs.age, null)
  })

  test('asks in the form that the model supports', async () => {
    const answer = ['{"name": "Ada"}']
    const strict = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    }
    const [held] = (await asked(answer, {}, ['structured_output', 'json_mode'])).requests
    assert.deepEqual(held!.response_format, { type: 'json_schema', json_schema: { name: 'answer', schema } })
    assert.deepEqual(held!.messages, [{ role: 'user', content: 'Who?' }])
    const [strictly] = (await asked(['{"a": ""}'], { schema: strict }, ['structured_output'])).requests
    const json_schema = { name: 'answer', schema: strict, strict: true }
    assert.deepEqual(strictly!.response_format, { type: 'json_schema', json_schema })
    for (const property of [{ type: 'string', minLength: 1 }, { anyOf: [{ type: 'integer', minimum: 0 }] }]) {
      const bounded = { ...strict, properties: { a: property } }
      const { requests } = await asked(['{"a": "b"}', '{"a": 1}'], { schema: bounded }, ['structured_output'])
      const told = { type: 'json_schema', json_schema: { name: 'answer', schema: bounded } }
      assert.deepEqual(requests[0]!.response_format, told)
    }
    const rule = `Answer with one JSON object and nothing else. It must fit this JSON schema:\n${JSON.stringify(schema)}`
    const [mode] = (await asked(answer, { system: 'Be brief.' }, ['json_mode'])).requests
    assert.deepEqual(mode!.response_format, { type: 'json_object' })
    assert.deepEqual(mode!.messages[0], { role: 'system', content: `Be brief.\n\n${rule}` })
    const [plain] = (await asked(answer)).requests
    assert.equal('response_format' in plain!, false)
    assert.deepEqual(plain!.messages, [
      { role: 'system', content: rule },
      { role: 'user', content: 'Who?' },
    ])
  })

  test('finds the object among other words', async () => {
    for (const answer of [
      '```json\n{"name": "Ada"}\n```',
      'Here you are: {"name": "Ada"} — anything else?',
      '<think>{"name": 7}</think>{"name": "Ada"}',
      '\n {"name":\n"Ada"} ',
    ])
      assert.deepEqual((await asked([answer])).outputs.value, { name: 'Ada' }, answer)
  })

  test('asks again after an invalid answer, and says what is wrong with it', async () => {
    const { outputs, requests, observer } = await asked(['no idea', '{"name": 7, "age": "x"}', '{"name": "Ada"}'], {
      repairs: 2,
    })
    assert.deepEqual(outputs.value, { name: 'Ada' })
    assert.equal((outputs.usage as { calls: number }).calls, 3)
    assert.deepEqual(requests[2]!.messages.slice(2), [
      { role: 'assistant', content: 'no idea' },
      {
        role: 'user',
        content: 'That does not fit: It is no JSON object. Answer again, with nothing but what was asked for.',
      },
      { role: 'assistant', content: '{"name": 7, "age": "x"}' },
      {
        role: 'user',
        content:
          'That does not fit: /name must be string. /age must be integer,null. Answer again, with nothing but what was asked for.',
      },
    ])
    assert.equal(observer.named('log').length, 2)
  })

  test('fails if no answer is valid, if the model refuses, or if a filter withholds the answer', async () => {
    const never = await asked(['[]', '{}'])
    const why = 'The model was asked 2 times and gave no valid answer: It is no JSON object.'
    assert.equal((await asked(['[]', '7'])).failure, `bad_answer: ${why}`)
    assert.match(never.failure, /^bad_answer: .* no valid answer: The object must have required property 'name'\.$/)
    assert.equal(never.requests.length, 2)
    assert.match((await asked(['x'], { repairs: 0 })).failure, /^bad_answer: The model was asked once/)
    const scripted = async (script: object) => {
      const provider = pricedProvider({ answer: () => script })
      const { failure } = await fired('chat.Structured', data, services([provider]))
      return [failure, provider.calls.length]
    }
    const declines = {
      pieces: [],
      before: [
        { type: 'refusal', text: 'I ' },
        { type: 'refusal', text: 'will not.' },
      ],
    }
    assert.deepEqual(await scripted(declines), ['refused: The model declines to answer: I will not.', 1])
    const filtered = { pieces: ['{"na'], finish_reason: 'content_filter' }
    assert.deepEqual(await scripted(filtered), ['refused: The content filter of the provider withheld the answer.', 1])
    const [cut] = await scripted({ pieces: ['{"na'], finish_reason: 'length' })
    assert.match(String(cut), /no valid answer: It was cut off at its limit of tokens\. It is no JSON object\.$/)
  })

  test('reads no object that is longer than any model writes, because that would block the server', async () => {
    const object = (length: number) => `{"name": "${'x'.repeat(length - 12)}"}`
    const given = async (length: number) => (await asked([`So: ${object(length)}`], { repairs: 0 })).failure
    assert.equal(await given(500_000), '')
    assert.match(await given(500_001), /no valid answer: It has more than 500,000 characters of JSON\.$/)
  })

  test('refuses answers that are not objects', async () => {
    const texts = fc.oneof(fc.string(), fc.json(), fc.constantFrom('{', '}{', '{}}', '{"a":', '[{"name": "x"}]'))
    const property = fc.asyncProperty(texts, async (answer) => {
      const { outputs, failure } = await asked([answer], { repairs: 0, schema: { type: 'object' } })
      if (failure === '') assert.equal(Object.prototype.toString.call(outputs.value), '[object Object]')
      else assert.match(failure, /^bad_answer: /)
    })
    await fc.assert(property, { numRuns: scaled(30) })
  })

  test('refuses invalid schemas and outputs before any paid call', async () => {
    const refusal = async (more: object, outputs = {}) => {
      const provider = answering([])
      const { failure } = await fired('chat.Structured', { ...data, ...more }, services([provider]), {
        dynamic_outputs: outputs,
      })
      assert.equal(provider.calls.length, 0)
      return failure
    }
    assert.match(
      await refusal({ schema: { type: 'object', properties: { a: { $ref: '#/nowhere' } } } }),
      /^bad_schema: The schema cannot be used/,
    )
    assert.equal(
      await refusal({}, { nam: declared('str') }),
      'bad_schema: The output "nam" is not a property of the schema. Its properties are name, age, tags.',
    )
    assert.equal(
      await refusal({}, { name: declared('int') }),
      'bad_schema: The output "name" is declared as int, but the schema gives str.',
    )
    assert.deepEqual(problems('chat.Structured', { ...data, schema: { type: 'array' } }), [
      'invalid_expression schema: Node "n": The schema must describe an object. Set its type to "object".',
    ])
    const unusable = { type: 'object', properties: { a: { type: 'text' } } }
    assert.match(
      problems('chat.Structured', { ...data, schema: unusable })[0]!,
      /^invalid_expression schema: .*cannot be used/,
    )
    const nowhere = { type: 'object', properties: { a: { $ref: `#/${'x'.repeat(60_000)}` } } }
    assert.ok((await refusal({ schema: nowhere })).length < 600)
    const properties = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`p${at}`, { enum: ['a', 'b'] }]))
    const wide = { schema: { type: 'object', properties } }
    assert.match(await refusal(wide, { nam: declared('str') }), / p18, p19 and 980 more\.$/)
    const words = {
      type: 'object',
      properties: { a: { type: 'string', enum: Array.from({ length: 5000 }, (_, at) => `w${at}`) } },
    }
    assert.match(
      await refusal({ schema: words }, { a: declared('int') }),
      /is declared as int, but the schema gives enum\(w0 \| w1.{0,60}…\.$/,
    )
    assert.match(problems('chat.Structured', { ...data, prompt: '' })[0]!, /^missing_property prompt: /)
  })

  test('reads hostile answers as quickly as others', async () => {
    const pattern = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } }
    const slow = JSON.stringify({ a: `${'a'.repeat(50_000)}b` })
    assert.match((await soon(() => asked([slow], { schema: pattern, repairs: 0 }))).failure, /must match pattern/)
    const shared = { type: 'object', enum: Array(20_000).fill(Array(20_000).fill('')) }
    const [told] = await soon(async () => problems('chat.Structured', { ...data, schema: shared }))
    assert.match(told!, /it is longer than 65,536 characters\.$/)
    const deep = { type: 'object', $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }
    assert.match((await soon(() => asked(['{}'], { schema: deep }))).failure, /^bad_schema: The schema takes too long/)
  })

  test('needs its model, like chat.Complete', () => {
    assert.deepEqual(needsOf('chat.Structured', { ...data, max_output_tokens: 7 }), [
      { kind: 'model', model: 'priced/small', task: 'chat', prompt: ['Who?'], max_output_tokens: 7 },
    ])
  })
})
