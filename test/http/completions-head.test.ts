// createChatCompletion with servers that send something before the answer: keep-alive comments, and results of prompt filters.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { asking, dataOf, post, startGateway, textIn } from '../completions/kit.ts'
import type { Script } from '../helpers/upstream.ts'

const FILTERS = { choices: [], created: 0, id: '', model: '', object: '', prompt_filter_results: [{ prompt_index: 0 }] }
const BEFORE = `: PROCESSING\n\nevent: ping\ndata: null\n\ndata: ${JSON.stringify(FILTERS)}\n\n`
const STREAM = 'text/event-stream'
const head = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' }
const word = {
  ...head,
  choices: [{ index: 0, delta: { role: 'assistant', content: 'Grüße 😀' }, finish_reason: 'stop' }],
}

const streamed = (text: string, more: Script = {}): Script => ({ body: BEFORE + text, content_type: STREAM, ...more })

describe('data that a server sends before its answer', () => {
  for (const [what, script, status] of [
    ['an error', streamed('data: {"error":{"message":"the stack of it"}}\n\n'), 502],
    ['an error of limits', streamed('data: {"error":{"message":"the stack of it","code":429}}\n\n'), 429],
    ['an error without a word', streamed('data: {"error":{}}\n\n'), 502],
    ['garbage', streamed('data: <html>\n\n'), 502],
    ['its end', streamed('data: [DONE]\n\n'), 502],
    ['nothing', streamed(''), 502],
    ['a cut', streamed('', { cuts: 1 }), 502],
  ] as const) {
    test(`gives an HTTP error if ${what} follows`, async () => {
      await using gateway = await startGateway({ answer: () => script })
      const given = await post(gateway.server, asking({ stream: true }))
      assert.equal(given.status, status, given.text)
      assert.match(given.headers['content-type']!, /^application\/json/)
      assert.doesNotMatch(given.text, /stack|html/)
    })
  }

  test('is followed by the answer with its own first event, unchanged', async () => {
    const answer = `data: ${JSON.stringify(word)}\n\ndata: [DONE]\n\n`
    await using gateway = await startGateway({ answer: () => streamed(answer, { split: 'every' }) })
    const body = asking({ stream: true, stream_options: { include_usage: true } })
    const { status, text } = await post(gateway.server, body)
    assert.deepEqual([status, textIn(text)], [200, 'Grüße 😀'])
    assert.ok(text.startsWith(BEFORE.replace('event: ping\ndata: null\n\n', ':\n\n')), text)
    const { id, model, created, usage } = JSON.parse(dataOf(text).at(-2)!)
    assert.deepEqual([id, model, created], ['x', 'm', 1])
    assert.ok(usage.completion_tokens > 0)
  })
})
