// A server that repeats the key of its request: nodes and agents get no more of the key than can be guessed, so that they cannot pass it on in pieces
// or in another encoding.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type AnswerContentPart, AnswerPartRedactor } from '../../../src/models/calls/answer-redaction.ts'
import { startGateway } from '../../completions/kit.ts'
import { graph, node, sink } from '../../engine/kit.ts'
import { scaled } from '../../helpers/scale.ts'
import type { Script } from '../../helpers/upstream.ts'
import { run } from '../kit.ts'

const KEY = 'sk-Planted/key+4711'
/** `sk-`, which is public, and ten more characters: the threshold. */
const THRESHOLD = 13
const TOLD = KEY.slice(0, THRESHOLD - 1)
const environment = { SVC_SECRET_UP_API_KEY: KEY }

function piecesOf(text: string, cuts: readonly number[]): string[] {
  const places = [0, ...cuts.filter((cut) => cut < text.length).toSorted((a, b) => a - b), text.length]
  return places.slice(1).map((end, at) => text.slice(places[at], end))
}

const cuts = fc.array(fc.nat(KEY.length + 6), { maxLength: 8 })

describe('parts of an answer', () => {
  const told = (parts: readonly AnswerContentPart[], credential: string | null = KEY) => {
    const safe = new AnswerPartRedactor(credential)
    return [...parts.flatMap((part) => safe.redact(part) ?? []), ...safe.flush()]
  }

  test('contain nothing of a key from the threshold on, wherever it is cut', () => {
    fc.assert(
      fc.property(cuts, fc.constantFrom('text', 'thinking', 'refusal', 'tool_call'), (at, type) => {
        const parts = piecesOf(`a ${KEY} b`, at).map(
          (text): AnswerContentPart =>
            type === 'tool_call' ? { type, index: 0, arguments: text } : { type: type as 'text', text },
        )
        const all = told(parts).map((part) => (part.type === 'tool_call' ? part.arguments : part.text))
        const [before, behind] = all.join('').split('[redacted]')
        assert.ok(TOLD.startsWith(before!.slice(2)) && behind === ' b', all.join(''))
      }),
      { numRuns: scaled(500) },
    )
  })

  test('stay unchanged where nothing is replaced, and without a key', () => {
    const parts: AnswerContentPart[] = [
      { type: 'text', text: 'sk-Pl' },
      { type: 'tool_call', index: 0, custom: true, id: 'call', name: 'sk-Planted', arguments: 'x' },
      { type: 'thinking', text: '' },
    ]
    for (const [at, part] of told(parts).entries()) assert.equal(part, parts[at])
    assert.deepEqual(told([{ type: 'text', text: KEY }], null), [{ type: 'text', text: KEY }])
  })

  test('are redacted separately: interleaved texts, names, and a cut end', () => {
    const cut = KEY.slice(0, THRESHOLD + 2)
    const parts: AnswerContentPart[] = [
      { type: 'text', text: cut },
      { type: 'thinking', text: 'hm ' },
      { type: 'text', text: `${KEY.slice(cut.length)} and ` },
      { type: 'tool_call', index: 3, id: `x${KEY}`, name: cut, arguments: cut },
      { type: 'refusal', text: cut },
    ]
    assert.deepEqual(told(parts), [
      { type: 'thinking', text: 'hm ' },
      { type: 'text', text: '[redacted] and ' },
      { type: 'tool_call', index: 3, id: 'x[redacted]', name: '[redacted]', arguments: '' },
      { type: 'tool_call', index: 3, arguments: '[redacted]' },
      { type: 'refusal', text: '[redacted]' },
    ])
  })
})

describe('a model that repeats its key', () => {
  const chat = (type: string, data: object, input = 'text') =>
    graph(
      [
        node('chat', 'chat.Complete', { model: 'up/gpt-4o-mini', prompt: 'x' }),
        node('change', type, { ...data }),
        sink('out'),
      ],
      [`chat.text->change.${input}`, 'change.output->out.value'],
    )
  const whole = () =>
    graph(
      [node('chat', 'chat.Complete', { model: 'up/gpt-4o-mini', prompt: 'x' }), sink('out')],
      ['chat.text->out.value'],
    )

  async function outputOf(script: Script, of: ReturnType<typeof graph>): Promise<string> {
    await using gateway = await startGateway({ answer: () => script }, { environment })
    const { outputs, error } = await run(gateway.server, of)
    return error ? JSON.stringify(error) : [outputs?.out].flat(9).join('')
  }

  test('gives nodes no more than the threshold: in pieces, in upper case, and in other encodings', async () => {
    const script = { text: ['it is ', ...piecesOf(KEY, [5, 12]), '!'] }
    assert.equal(await outputOf(script, whole()), `it is ${TOLD}[redacted]!`)
    assert.equal(
      await outputOf(script, chat('text.Split', { separator: '/' })),
      `it is ${TOLD.replace('/', '')}[redacted]!`,
    )
    assert.equal(await outputOf(script, chat('text.Case', { to: 'upper' })), `IT IS ${TOLD.toUpperCase()}[REDACTED]!`)
    const hex = await outputOf(script, chat('text.Encode', { as: 'hex' }))
    assert.equal(Buffer.from(hex, 'hex').toString(), `it is ${TOLD}[redacted]!`)
  })

  test('gives nodes none of a whole key, streamed or not, refused or broken off', async () => {
    const message = { role: 'assistant', content: `it is ${KEY}!` }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    const completion = JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices })
    for (const script of [{ text: [`it is ${KEY}!`] }, { text: ['it is ', KEY, '!'] }, { body: completion }])
      assert.equal(await outputOf(script, chat('text.Case', { to: 'upper' })), 'IT IS [REDACTED]!')
    for (const words of [`the key ${KEY} is wrong`, `no ${KEY.slice(0, -2)}`]) {
      const said = await outputOf({ error: { message: words } as never, status: 400 }, whole())
      assert.ok(!said.includes(KEY.slice(THRESHOLD - 1, -2)), said)
    }
  })

  test('gives an agent, its tools and their results none of it', async () => {
    const bodies: string[] = []
    await using gateway = await startGateway(
      {
        answer: ({ json }, n) => {
          bodies.push(JSON.stringify(json))
          if (n > 0) return { text: [KEY.slice(0, 7), KEY.slice(7)] }
          const call = (text: string, more: object = {}) => ({
            id: 'x',
            object: 'chat.completion.chunk',
            created: 1,
            model: 'm',
            choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: text }, ...more }] } }],
          })
          const begun = { id: `id-${KEY}`, type: 'function', function: { name: 'text_Case', arguments: '{"text":"' } }
          const end = { ...call(''), choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }
          return {
            events: [
              call('', begun),
              ...piecesOf(KEY, [6]).map((text) => call(text)),
              call('","to":"upper"}'),
              end,
              '[DONE]',
            ],
          }
        },
      },
      { environment },
    )
    const agent = node('agent', 'agent.Run', { model: 'up/gpt-4o-mini', prompt: 'x', tools: ['text.Case'] })
    const { outputs, error } = await run(
      gateway.server,
      graph([agent, sink('text'), sink('turns')], ['agent.text->text.value', 'agent.answer->turns.value']),
    )
    const all = JSON.stringify([outputs, error])
    assert.match(all, /sk-Plan\[redacted\]/)
    assert.equal(bodies.length, 2)
    assert.match(bodies[1]!, /SK-PLA\[REDACTED\]/)
    for (const text of [all, ...bodies])
      for (const form of [KEY.slice(0, THRESHOLD), KEY.slice(THRESHOLD - 1, -1)])
        assert.ok(!text.toLowerCase().includes(form.toLowerCase()), text)
  })
})
