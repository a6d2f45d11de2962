// createChatCompletion with servers that refuse `stream_options`: clients get the usage all the same.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { asking, chunksIn, dataOf, post, startGateway, textIn } from '../completions/kit.ts'
import type { Script, UpstreamRequest } from '../helpers/upstream.ts'

const REFUSAL: Script = {
  status: 422,
  body: '{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}',
}
const strict = ({ json }: UpstreamRequest): Script => ('stream_options' in json ? REFUSAL : { usage: 'none' })

describe('a server that refuses stream_options', () => {
  test('answers without them, and the usage is counted here', async () => {
    await using gateway = await startGateway({ answer: strict })
    const body = asking({ stream: true, stream_options: { include_usage: true } })
    for (let times = 0; times < 2; times++) {
      const { status, text } = await post(gateway.server, body)
      assert.deepEqual([status, textIn(text), dataOf(text).at(-1)], [200, 'Hello from upstream', '[DONE]'])
      const { usage, choices } = chunksIn(text).at(-1)
      assert.deepEqual(choices, [])
      assert.ok(usage.prompt_tokens > 0 && usage.completion_tokens > 0, JSON.stringify(usage))
    }
    const plain = asking({ model: 'gpt-4o-mini', stream: true })
    const [first, ...others] = gateway.upstream.posts.map(({ raw }) => raw.toString())
    assert.deepEqual(others, [plain, plain])
    assert.match(first!, /"stream_options":\{"include_usage":true\}/)
    const metrics = await gateway.server.context.metrics.text()
    assert.match(metrics, /svc_model_calls_total\{provider="up",outcome="completed"\} 2\n/)
    assert.match(metrics, /svc_model_tokens_total\{provider="up",direction="output"\} [1-9]/)
  })

  test('answers clients that did not request usage as well', async () => {
    await using gateway = await startGateway({ answer: strict })
    const { status, text } = await post(gateway.server, asking({ stream: true }))
    assert.deepEqual([status, textIn(text)], [200, 'Hello from upstream'])
    assert.ok(chunksIn(text).every(({ usage }) => !usage))
  })

  test('refuses other options in them, and names the field', async () => {
    await using gateway = await startGateway({ answer: strict })
    const body = asking({ stream: true, stream_options: { include_obfuscation: false } })
    const { status, text } = await post(gateway.server, body)
    const { error } = JSON.parse(text)
    assert.deepEqual([status, error.param], [400, 'stream_options'])
    assert.match(error.message, /Extra inputs are not permitted/)
    assert.equal(gateway.upstream.posts.length, 1)
  })

  test('is not called a third time', async () => {
    const answer = ({ json }: UpstreamRequest): Script =>
      'stream_options' in json ? REFUSAL : { error: { message: 'too hot', param: 'temperature' } }
    await using gateway = await startGateway({ answer })
    const { status, text } = await post(gateway.server, asking({ stream: true }))
    assert.deepEqual([status, JSON.parse(text).error.param], [400, 'temperature'])
    assert.equal(gateway.upstream.posts.length, 2)
  })
})
