// chat.Classify, chat.Extract and chat.Embed: requests, accepted answers, and errors.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isRetrySafe } from '../../../src/engine/node-api/node-metadata.ts'
import { builtinRegistry } from '../../../src/nodes/registry.ts'
import { graph, node, start } from '../../engine/kit.ts'
import { dollars, pricedProvider } from '../../helpers/priced-provider.ts'
import { declared, fired, needsOf, problems, services } from '../chat-kit.ts'
import { soon } from '../soon.ts'

const answering = (...answers: string[]) =>
  pricedProvider({ answer: (_, at) => ({ pieces: [answers[at] ?? 'no more'] }) })

describe('chat.Classify', () => {
  const data = { model: 'priced/small', text: 'It crashes!', labels: ['bug', 'billing', 'Other'] }

  test('gives one of the labels, however it is written', async () => {
    for (const [answer, label] of [
      ['{"label": "bug"}', 'bug'],
      ['```json\n{"label": "other"}\n```', 'Other'],
      ['Billing.', 'billing'],
      [' "bug" ', 'bug'],
    ]) {
      const { outputs } = await fired('chat.Classify', data, services([answering(answer!)]))
      assert.equal(outputs.label, label, answer)
    }
  })

  test('works offline with the echo, which repeats the label', async () => {
    const { outputs } = await fired('chat.Classify', { ...data, model: 'builtin/echo', text: 'BUG' }, services())
    assert.deepEqual([outputs.label, (outputs.usage as { cost: number }).cost], ['bug', 0])
  })

  test('sends the labels to the model, and asks again', async () => {
    const provider = answering('a bug or so', '{"label": "bug"}')
    const more = { instructions: 'Crashes are bugs.', temperature: 0 }
    const { outputs } = await fired('chat.Classify', { ...data, ...more }, services([provider]))
    assert.equal(outputs.label, 'bug')
    const [first, second] = provider.calls.map(({ request }) => request)
    assert.equal(first!.temperature, 0)
    const told = 'Say which one of these labels fits the text of the user best: "bug", "billing", "Other".'
    assert.ok(String(first!.messages[0]!.content).startsWith(`${told}\n\nCrashes are bugs.\n\nAnswer with one JSON`))
    assert.deepEqual(first!.messages[1], { role: 'user', content: 'It crashes!' })
    assert.match(String(second!.messages.at(-1)!.content), /^That does not fit: It names none of the labels\./)
  })

  test('fails if the answer names no label, or if the labels are invalid', async () => {
    const lent = services([answering()])
    assert.match((await fired('chat.Classify', data, lent)).failure, /^bad_answer: The model was asked 2 times/)
    assert.equal((await fired('chat.Classify', { ...data, text: '' }, lent)).failure, 'bad_input: The text is empty.')
    for (const [labels, why] of [
      [['one'], '`labels` needs at least two labels.'],
      [['a', 'A '], 'Two labels are the same.'],
      [['a', ''], 'A label is empty.'],
      [['a', 'b'.repeat(501)], 'A label has more than 500 characters.'],
      [Array.from({ length: 201 }, (_, at) => `l${at}`), '`labels` has more than 200 labels.'],
    ] as const)
      assert.deepEqual(problems('chat.Classify', { ...data, labels }), [`out_of_range labels: Node "n": ${why}`])
  })

  test('reads hostile answers and labels as quickly as others', async () => {
    const dots = `bug${'.'.repeat(400_000)}x`
    for (const answer of [dots, JSON.stringify({ label: dots }), `bug${'"`'.repeat(400_000)}x`])
      assert.match(
        (await soon(() => fired('chat.Classify', { ...data, repairs: 0 }, services([answering(answer)])))).failure,
        /^bad_answer: .* It names none of the labels\.$/,
      )
    const told = (await soon(async () => problems('chat.Classify', { ...data, labels: ['a', dots] })))[0]!
    assert.match(told, /A label has more than 500 characters\.$/)
    const { outputs } = await fired('chat.Classify', data, services([answering(`"\`${'bug'}".\`'`)]))
    assert.equal(outputs.label, 'bug')
  })

  test('needs its model, and knows its prompt', () => {
    const [need] = needsOf('chat.Classify', data)
    assert.ok(need?.kind === 'model' && need.prompt!.join('\n').endsWith('"Other".\nIt crashes!'))
    const [unknown] = needsOf('chat.Classify', data, ['text'])
    assert.ok(unknown?.kind === 'model' && unknown.prompt === null)
    const [wrong] = needsOf('chat.Classify', { ...data, labels: 7 })
    assert.ok(wrong?.kind === 'model' && wrong.prompt === null)
  })
})

describe('chat.Extract', () => {
  const fields = { total: { type: 'float', description: 'in euro' }, number: 'int', items: 'list[str]' }
  const data = { model: 'priced/small', text: 'Two teas, 7.50', fields }

  test('gives all fields, null for missing ones, and found fields as outputs', async () => {
    const provider = answering('{"total": 7.5, "items": ["tea", "tea"], "more": 1}')
    const dynamic_outputs = { total: declared('float'), number: declared('int') }
    const { outputs } = await fired('chat.Extract', data, services([provider]), { dynamic_outputs })
    const { usage: _, ...rest } = outputs
    assert.deepEqual(rest, { total: 7.5, value: { total: 7.5, number: null, items: ['tea', 'tea'] } })
    const [{ content } = { content: '' }] = provider.calls[0]!.request.messages
    assert.match(
      String(content),
      /make nothing up\.\n- total \(float\): in euro\n- number \(int\)\n- items \(list\[str\]\)\n/,
    )
  })

  test('sends a schema to models that support structured output', async () => {
    const provider = pricedProvider({ capabilities: ['structured_output'], answer: () => ({ pieces: ['{}'] }) })
    await fired('chat.Extract', { ...data, fields: { number: 'int' } }, services([provider]))
    const schema = {
      type: 'object',
      properties: { number: { type: ['integer', 'null'] } },
      required: ['number'],
      additionalProperties: false,
    }
    const json_schema = { name: 'answer', schema, strict: true }
    assert.deepEqual(provider.calls[0]!.request.response_format, { type: 'json_schema', json_schema })
  })

  test('asks again if a field has a wrong type, and fails at last', async () => {
    const provider = answering('{"number": "7"}', '{"number": 7.5}')
    const { failure } = await fired('chat.Extract', data, services([provider]))
    assert.match(failure, /^bad_answer: .* no valid answer: "number" must be int, or null\.$/)
    assert.equal(provider.calls.length, 2)
  })

  test('refuses invalid fields', () => {
    const wrong = (given: object) => problems('chat.Extract', { ...data, fields: given })[0]!
    assert.match(wrong({}), /at least one field/)
    assert.match(wrong({ a: 'date' }), /The field "a" must be one of str, int, float, bool, list\[str\]/)
    assert.match(wrong({ a: { type: 'str', description: 7 } }), /The field "a" must be one of/)
    assert.match(wrong({ ['long'.repeat(1000)]: 'date' }), /The field "(?:long){15}…" must be one of/)
    assert.match(wrong({ a: 'toString' }), /The field "a" must be one of/)
    assert.match(
      wrong(Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`f${at}`, 'str']))),
      /more than 100 fields/,
    )
  })
})

describe('chat.Embed', () => {
  const embed = (text: string) => [text.length, 1]

  test('gives a vector for each text, and the first by itself', async () => {
    const provider = pricedProvider({ embed })
    const { outputs } = await fired('chat.Embed', { model: 'priced/small', texts: ['a', 'bcd'] }, services([provider]))
    const { usage, ...rest } = outputs
    assert.deepEqual(rest, {
      vectors: [
        [1, 1],
        [3, 1],
      ],
      vector: [1, 1],
    })
    const { input_tokens, output_tokens, calls, cost } = usage as Record<string, unknown>
    assert.deepEqual([input_tokens, output_tokens, calls, cost], [2, 0, 1, 2e-6])
    assert.deepEqual(provider.embedded, [{ model: 'small', input: ['a', 'bcd'] }])
  })

  test('accepts a single text, and requests the given dimensions', async () => {
    const provider = pricedProvider({ embed })
    const data = { model: 'small', texts: 'abc', dimensions: 2 }
    const { outputs } = await fired('chat.Embed', data, services([provider]))
    assert.deepEqual(outputs.vector, [3, 1])
    assert.deepEqual(provider.embedded, [{ model: 'small', input: ['abc'], dimensions: 2 }])
  })

  test('sends many texts in several calls', async () => {
    const provider = pricedProvider({ embed: (_, call) => [call + 1], models: { small: dollars(0, 0, 0.5) } })
    const texts = [...Array.from({ length: 230 }, (_, at) => `${at}`), 'x'.repeat(199_999), 'yy', 'zz']
    const { outputs } = await fired('chat.Embed', { model: 'priced/small', texts }, services([provider]))
    assert.deepEqual(
      provider.embedded.map(({ input }) => input.length),
      [100, 100, 30, 1, 2].filter((length) => length !== 0),
    )
    assert.deepEqual(
      (outputs.vectors as number[][]).map(([one]) => one),
      texts.map((_, at) => at + 1),
    )
    const { calls, cost } = outputs.usage as Record<string, unknown>
    assert.deepEqual([calls, cost], [5, 2.5])
  })

  test('gives no vectors for no texts, and refuses empty texts', async () => {
    const provider = pricedProvider({ embed })
    const of = (texts: unknown, model = 'priced/small') => fired('chat.Embed', { model, texts }, services([provider]))
    const { vectors, vector } = (await of([])).outputs
    assert.deepEqual([vectors, vector], [[], undefined])
    const seen = (texts: unknown) => problems('chat.Embed', { model: 'priced/small', texts })[0]!
    assert.equal(seen(['a', '']), 'out_of_range texts: Node "n": Text 2 is empty, and an empty text has no vector.')
    assert.match(seen(Array(2001).fill('x')), /^out_of_range texts: .*There are more than 2,000 texts/)
    const fed = async (texts: unknown) => {
      const nodes = [
        node('given', 'input.List', { name: 't', value: texts }),
        node('n', 'chat.Embed', { model: 'priced/small' }),
      ]
      const { execution } = start(graph(nodes, ['given.output->n.texts']), builtinRegistry, {
        services: services([provider]),
      })
      const outcome = await execution.done
      return outcome.status === 'failed' ? `${outcome.error.type}: ${outcome.error.message}` : ''
    }
    assert.equal(await fed(['a', '']), 'bad_input: Text 2 is empty, and an empty text has no vector.')
    assert.match(await fed(Array(2001).fill('x')), /^too_large: There are more than 2,000 texts/)
    assert.match((await of(Array(3).fill('x'.repeat(2_000_000)))).failure, /^too_large: All texts together/)
    assert.match((await of(['a'], 'builtin/echo')).failure, /^bad_input: /)
    assert.equal(provider.embedded.length, 0)
  })

  test('needs a model for embedding', () => {
    const need = { kind: 'model', model: 'm/n', task: 'embedding', prompt: ['a', 'b'], max_output_tokens: 0 }
    assert.deepEqual(needsOf('chat.Embed', { model: 'm/n', texts: ['a', 'b'] }), [need])
    assert.deepEqual(needsOf('chat.Embed', { model: 'm/n', texts: 'a' }), [{ ...need, prompt: ['a'] }])
    assert.deepEqual(needsOf('chat.Embed', { model: 'm/n' }, ['texts']), [{ ...need, prompt: null }])
  })
})

test('nodes that make each of their calls once may run again', () => {
  for (const name of ['Structured', 'Classify', 'Extract', 'Summarize', 'Embed'])
    assert.equal(isRetrySafe(builtinRegistry.get(`chat.${name}`)!, { model: 'priced/small' }), true)
})
