// chat.Summarize: texts of one piece and of many, the requests for each, and that a failure stops the other calls.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { builtinRegistry } from '../../../src/nodes/registry.ts'
import { chunkAtBoundaries } from '../../../src/nodes/shared/text-chunks.ts'
import { graph, node, outputs, sink } from '../../engine/kit.ts'
import { type PricedOptions, pricedProvider } from '../../helpers/priced-provider.ts'
import { scaled } from '../../helpers/scale.ts'
import { fired, needsOf, problems, services } from '../chat-kit.ts'
import { soon } from '../soon.ts'

const model = 'priced/small'
const last = ({ messages }: { messages: readonly { content?: unknown }[] }) => String(messages.at(-1)!.content)

/** Paragraphs of 400 characters, each with its number. */
const paragraphs = (count: number) =>
  Array.from({ length: count }, (_, at) => `${at} `.repeat(200).slice(0, 398)).join('\n\n')

async function summary(data: Record<string, unknown>, options: PricedOptions = {}) {
  const provider = pricedProvider(options)
  const of = graph(
    [node('s', 'chat.Summarize', { model, ...data }), sink('text'), sink('usage')],
    ['s.text->text.value', 's.usage->usage.value'],
  )
  const { text, usage } = await outputs(of, builtinRegistry, { services: services([provider]) })
  return { text: text as string[], usage: (usage as Record<string, unknown>[])[0]!, provider }
}

describe('chat.Summarize', () => {
  test('streams the summary of a short text', async () => {
    const { text, usage, provider } = await summary({ text: 'A long story.', instructions: 'In French.' })
    assert.deepEqual(text, ['one', ' two', ' three'])
    assert.deepEqual([usage.calls, usage.output_tokens], [1, 3])
    const [system, user] = provider.calls[0]!.request.messages
    assert.equal(
      system!.content,
      'Summarize the text of the user. Answer with the summary alone, in the language of the text.\n\nIn French.',
    )
    assert.deepEqual(user, { role: 'user', content: 'A long story.' })
  })

  test('works offline with the echo', async () => {
    const { text } = await summary({ model: 'builtin/echo', text: 'as it is' })
    assert.deepEqual(text, ['as', ' it', ' is'])
  })

  test('summarizes a long text in pieces, then their summaries in their order', async () => {
    const answer: PricedOptions['answer'] = (request) => ({ pieces: [`<${last(request).slice(0, 2).trim()}>`, '.'] })
    const { text, usage, provider } = await summary({ text: paragraphs(5), piece_length: 500 }, { answer })
    assert.equal(provider.calls.length, 6)
    const sent = provider.calls.map(({ request }) => request)
    assert.deepEqual(
      sent
        .slice(0, 5)
        .map(last)
        .map((piece) => piece.slice(0, 2))
        .sort(),
      ['0 ', '1 ', '2 ', '3 ', '4 '],
    )
    assert.equal(last(sent[5]!), '<0>.\n\n<1>.\n\n<2>.\n\n<3>.\n\n<4>.')
    assert.match(String(sent[5]!.messages[0]!.content), /^The user gives summaries of the parts of one text/)
    assert.deepEqual(text, ['<<0>', '.'])
    assert.deepEqual([usage.calls, usage.output_tokens, usage.currency], [6, 6, 'USD'])
  })

  test('summarizes the summaries in pieces again if they are too long', async () => {
    const answer: PricedOptions['answer'] = (request) => ({
      pieces: [last(request).slice(0, last(request).length / 4)],
    })
    const { provider, usage } = await summary({ text: paragraphs(40), piece_length: 1000 }, { answer })
    const lengths = provider.calls.map(({ request }) => last(request).length)
    assert.ok(lengths.every((length) => length <= 1000) && lengths.length > 20 + 4)
    assert.equal(usage.calls, lengths.length)
  })

  test('fails if summaries do not get shorter, or if there would be too many', async () => {
    const data = { model: 'builtin/echo', text: paragraphs(5), piece_length: 500 }
    const { failure } = await fired('chat.Summarize', data, services())
    assert.match(failure, /^too_large: The summaries of the pieces are not much shorter than the text/)
    const many = await fired('chat.Summarize', { ...data, text: paragraphs(700) }, services())
    assert.match(many.failure, /^too_large: The text has more than 500 pieces/)
    assert.deepEqual(problems('chat.Summarize', { model, text: ' ' }), [
      'missing_property text: Node "n": The text is empty.',
    ])
  })

  test('fails with the error of its first failed call, and stops the others', async () => {
    const provider = pricedProvider({
      answer: (request) =>
        last(request).startsWith('1 ')
          ? { fails: { before: 0, with: new Error('no') } }
          : {
              waits: {
                before: 0,
                for: (signal) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
              },
            },
    })
    const data = { model, text: paragraphs(9), piece_length: 500 }
    const { failure } = await fired('chat.Summarize', data, services([provider]))
    assert.equal(failure, 'provider_failed: The provider "priced" failed to answer.')
    assert.equal(provider.calls.length, 4)
    assert.ok(provider.calls.every(({ signal, request }) => signal.aborted || last(request).startsWith('1 ')))
  })

  test('stays fast for many small pieces of an answer, and for a text of many words', async () => {
    const pieces = Array.from({ length: 10_000 }, () => 'x'.repeat(900))
    const { text } = await soon(() => summary({ text: 'short' }, { answer: () => ({ pieces }) }))
    assert.equal(text.length, 10_000)
    const words = { model, text: 'a '.repeat(4_900_000), piece_length: 500 }
    assert.match((await soon(() => fired('chat.Summarize', words, services()))).failure, /more than 500 pieces/)
    assert.equal((await soon(async () => needsOf('chat.Summarize', words))).length, 501)
  })

  test('needs a call for each piece, and one with an unknown prompt', () => {
    const needs = needsOf('chat.Summarize', { model, text: paragraphs(3), piece_length: 500 })
    assert.deepEqual(
      needs.map((need) => need.kind === 'model' && need.prompt?.[0]?.slice(0, 9)),
      ['Summarize', 'Summarize', 'Summarize', undefined],
    )
    assert.equal(needsOf('chat.Summarize', { model, text: 'short' }).length, 1)
    assert.equal(needsOf('chat.Summarize', { model, text: 'short' }, ['text']).length, 1)
  })
})

describe('pieces of a text', () => {
  test('end between paragraphs, lines, sentences or words', () => {
    assert.deepEqual(chunkAtBoundaries('one two.\n\nthree four\nfive', 18), ['one two.', 'three four\nfive'])
    assert.deepEqual(chunkAtBoundaries('one two three\nfour', 16), ['one two three', 'four'])
    assert.deepEqual(
      chunkAtBoundaries('It is. So be it, then', 12),
      ['It is.', 'So be it,', 'then'].slice(0, 1).concat(chunkAtBoundaries('So be it, then', 12)),
    )
    assert.deepEqual(chunkAtBoundaries('one two three', 9), ['one two', 'three'])
    assert.deepEqual(chunkAtBoundaries('abcdefgh', 3), ['abc', 'def', 'gh'])
    assert.deepEqual(chunkAtBoundaries('a😀b😀', 2), ['a', '😀', 'b', '😀'])
    assert.deepEqual(chunkAtBoundaries(' \n ', 2), [])
    assert.deepEqual(chunkAtBoundaries('a b c d', 2, 2), ['a', 'b', 'c'])
  })

  test('contain all of its words, and are short enough', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', '.', '😀', '\n\n'), maxLength: 300 })
    const property = fc.property(text, fc.integer({ min: 2, max: 50 }), (whole, most) => {
      const pieces = chunkAtBoundaries(whole, most)
      assert.equal(pieces.join('').replaceAll(/\s/g, ''), whole.replaceAll(/\s/g, ''))
      for (const piece of pieces) assert.ok(piece.length > 0 && piece.length <= most && piece.isWellFormed())
    })
    fc.assert(property, { numRuns: scaled(300) })
  })
})
