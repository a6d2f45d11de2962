// Pictures of chat nodes: accepted values, requests, errors, and needs.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { NodeError } from '../../../src/engine/node-api/node-error.ts'
import type { NodeServices } from '../../../src/engine/node-api/node-services.ts'
import { noServices } from '../../../src/engine/node-api/services/no-services.ts'
import { pricedProvider } from '../../helpers/priced-provider.ts'
import { fired, needsOf, problems, services } from '../chat-kit.ts'

const PNG = Buffer.from('89504e470d0a1a0a00000000', 'hex')
const JPEG = Buffer.from('ffd8ffe000104a46', 'hex')
const urlOf = (type: string, bytes: Buffer) => `data:image/${type};base64,${bytes.toString('base64')}`
const image = (url: string) => ({ type: 'image_url', image_url: { url } })

/** A store and a web server that have one picture each. */
function lent(loaded: string[], bytes: Uint8Array = PNG, status = 200): Partial<NodeServices> {
  return {
    assets: {
      ...noServices.assets,
      async load(reference) {
        loaded.push(reference)
        if (reference === 'asset://none') throw new NodeError('There is no such asset.', 'asset_not_found')
        return { bytes, content_type: 'image/x', name: 'x' }
      },
    },
    http: {
      async send({ url, method }) {
        loaded.push(`${method} ${url}`)
        return { status, headers: {}, body: bytes, url }
      },
    },
  }
}

async function sent(data: Record<string, unknown>, more: Partial<NodeServices> = {}) {
  const provider = pricedProvider()
  const given = { model: 'priced/small', ...data }
  const { failure } = await fired('chat.Complete', given, services([provider], more))
  return { failure, messages: provider.calls[0]?.request.messages }
}

describe('pictures', () => {
  test('go with the prompt as data: URLs, wherever they come from', async () => {
    const loaded: string[] = []
    const data = urlOf('jpeg', JPEG)
    const images = [
      data,
      'asset://a',
      { type: 'image', uri: '/api/storage/k' },
      'https://example.com/x',
      new Uint8Array(JPEG),
    ]
    const { messages, failure } = await sent({ system: 's', prompt: 'What is it?', images }, lent(loaded))
    assert.equal(failure, '')
    const png = urlOf('png', PNG)
    assert.deepEqual(messages, [
      { role: 'system', content: 's' },
      { role: 'user', content: [{ type: 'text', text: 'What is it?' }, ...[data, png, png, png, data].map(image)] },
    ])
    assert.deepEqual(loaded, ['asset://a', '/api/storage/k', 'GET https://example.com/x'])
  })

  test('are enough without a prompt, and may be parts of messages', async () => {
    const { messages } = await sent({ images: ['asset://a'] }, lent([]))
    assert.deepEqual(messages, [{ role: 'user', content: [image(urlOf('png', PNG))] }])
    const content = [
      { type: 'text', text: 'this' },
      { type: 'image_url', image_url: { url: 'asset://a', detail: 'low' } },
    ]
    const told = await sent({ messages: [{ role: 'user', content }], prompt: 'and?' }, lent([]))
    assert.deepEqual(told.messages, [
      {
        role: 'user',
        content: [content[0], { type: 'image_url', image_url: { url: urlOf('png', PNG), detail: 'low' } }],
      },
      { role: 'user', content: 'and?' },
    ])
  })

  test('that are invalid are refused before any model call', async () => {
    const why = async (one: unknown, more: Partial<NodeServices> = lent([])) => {
      const { failure, messages } = await sent({ prompt: 'x', images: [one] }, more)
      assert.equal(messages, undefined)
      return failure
    }
    for (const one of [7, {}, 'x', 'ftp://x', 'data:image/png,abc', 'data:image/png;base64,a-b', { uri: 7 }])
      assert.match(await why(one), /^bad_input: Picture 1 is neither bytes, nor an http/)
    assert.match(
      await why('data:image/png;base64,aGVsbG8='),
      /^bad_input: Picture 1 is not a PNG, JPEG, GIF or WebP\.$/,
    )
    assert.match(await why('asset://none'), /^asset_not_found: /)
    assert.match(await why('asset://a', noServices), /^unavailable: /)
    assert.match(
      await why('https://x', lent([], PNG, 404)),
      /^bad_response: Picture 1 could not be fetched: its server responded with status 404/,
    )
    const large = Buffer.concat([PNG, Buffer.alloc(20_000_000)])
    assert.match(await why('asset://a', lent([], large)), /^too_large: Picture 1 has more than 20,000,000 bytes\.$/)
    const many = await sent({ prompt: 'x', images: Array(51).fill('asset://a') }, lent([]))
    assert.match(many.failure, /^too_large: There are more than 50 pictures/)
    const half = Buffer.concat([PNG, Buffer.alloc(19_000_000)])
    const all = await sent({ prompt: 'x', images: Array(3).fill('asset://a') }, lent([], half))
    assert.match(all.failure, /^too_large: All pictures together have more than 50,000,000 bytes\.$/)
  })

  test('make the prompt unknown before the run, and need their assets', () => {
    const model = { kind: 'model', model: 'm/n', task: 'chat', prompt: null, max_output_tokens: null }
    const images = ['asset://a', 'https://x', { asset_id: 'b' }, 7]
    assert.deepEqual(needsOf('chat.Complete', { model: 'm/n', prompt: 'x', images }), [
      model,
      { kind: 'asset', reference: 'asset://a' },
      { kind: 'asset', reference: 'asset://b' },
    ])
    assert.deepEqual(needsOf('chat.Complete', { model: 'm/n', prompt: 'x', images }, ['images']), [model])
    assert.deepEqual(problems('chat.Complete', { model: 'm', images: ['asset://a'] }), [])
  })
})

describe('chat.Complete', () => {
  test('sends only options that are set', async () => {
    const provider = pricedProvider()
    const data = { model: 'priced/small', prompt: 'x', temperature: 0, top_p: 0.5, stop: ['END'] }
    await fired('chat.Complete', data, services([provider]))
    await fired('chat.Complete', { model: 'priced/small', prompt: 'x' }, services([provider]))
    const messages = [{ role: 'user', content: 'x' }]
    assert.deepEqual(
      provider.calls.map(({ request }) => request),
      [
        { model: 'small', messages, temperature: 0, top_p: 0.5, stop: ['END'] },
        { model: 'small', messages },
      ],
    )
    const { failure } = await fired('chat.Complete', { ...data, stop: Array(5).fill('x') }, services([provider]))
    assert.equal(failure, 'bad_input: `stop` takes at most 4 strings.')
    assert.match(problems('chat.Complete', { ...data, temperature: 3 })[0]!, /^out_of_range temperature/)
  })

  test('publishes thinking, fails if the model refuses, and reports a filter', async () => {
    const scripts = [
      { before: [{ type: 'thinking' as const, text: 'hm' }], finish_reason: 'content_filter' as const },
      { before: [{ type: 'refusal' as const, text: 'n'.repeat(600) }], pieces: [] },
    ]
    const provider = pricedProvider({ answer: (_, at) => scripts[at]! })
    const ask = () => fired('chat.Complete', { model: 'priced/small', prompt: 'x' }, services([provider]))
    const first = await ask()
    assert.deepEqual(
      first.observer
        .named('chunk')
        .map(([, , chunk]) => chunk as { content: string; thinking: boolean })
        .slice(0, 2)
        .map(({ content, thinking }) => [content, thinking]),
      [
        ['hm', true],
        ['one', false],
      ],
    )
    assert.equal((first.outputs.usage as { finish_reason: string }).finish_reason, 'content_filter')
    assert.equal((await ask()).failure, `refused: The model declines to answer: ${'n'.repeat(500)}…`)
  })
})
