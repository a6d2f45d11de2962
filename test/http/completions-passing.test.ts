// createChatCompletion with a server that speaks OpenAI's protocol: requests and answers pass through byte by byte.
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { describe, test } from 'node:test'
import { asking, chunksIn, dataOf, MODEL, post, startGateway, textIn } from '../completions/kit.ts'

/** The answer for a client that calls the model server directly. */
function direct(url: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json' }
    const outgoing = request(`${url}/chat/completions`, { method: 'POST', agent: false, headers }, async (incoming) => {
      const pieces: Buffer[] = []
      for await (const piece of incoming) pieces.push(piece as Buffer)
      resolve(Buffer.concat(pieces).toString())
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

const CALLS = {
  tool_calls: [
    { name: 'weather', arguments: ['{"city"', ':"Zü', 'rich"}'] },
    { name: 'time', arguments: ['{}'] },
  ],
}

describe('a request', () => {
  test('passes through with another model and every other byte unchanged', async () => {
    await using gateway = await startGateway()
    const rest = `"messages":[{"role":"user","content":"\\u00e9\\ud83d\\ude00 é😀"}], "seed":1152921504606846976, "x_float":1e400,\n "temperature":1.0,"x_unknown":{"model":"kept","n":[1.10,-0]}  }`
    const { status } = await post(gateway.server, `{ "model" :"${MODEL}",${rest}`)
    assert.equal(status, 200)
    assert.equal(gateway.upstream.posts[0]!.raw.toString(), `{ "model" :"gpt-4o-mini",${rest}`)
  })

  test('for a stream also requests the usage', async () => {
    await using gateway = await startGateway()
    await post(gateway.server, asking({ stream: true, stream_options: { include_obfuscation: false } }))
    const options = { include_obfuscation: false, include_usage: true }
    assert.deepEqual(gateway.upstream.posts[0]!.json.stream_options, options)
  })

  test('has the key of its provider, and no credential of the client', async () => {
    const environment = { SVC_SECRET_UP_API_KEY: 'sk-of-the-provider' }
    await using gateway = await startGateway({ keys: ['sk-of-the-provider'] }, { environment })
    const headers = { Cookie: 'a=b', 'X-Other': 'c', 'OpenAI-Organization': 'org' }
    assert.equal((await post(gateway.server, asking(), { headers })).status, 200)
    const { headers: sent } = gateway.upstream.posts[0]!
    assert.equal(sent.authorization, 'Bearer sk-of-the-provider')
    assert.equal(sent.cookie ?? sent['x-other'] ?? sent['openai-organization'], undefined)
  })

  test('may be written in UTF-16', async () => {
    await using gateway = await startGateway()
    const headers = { 'Content-Type': 'application/json; charset=utf-16le' }
    const { status } = await post(gateway.server, Buffer.from(asking(), 'utf16le'), { headers })
    assert.equal(status, 200)
    assert.deepEqual(gateway.upstream.posts[0]!.json, JSON.parse(asking({ model: 'gpt-4o-mini' })))
  })
})

describe('a buffered answer', () => {
  test('passes through byte by byte, with unknown content', async () => {
    const usage = '"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}'
    const body = `{ "id":"x", "choices":[{"index":0,"message":{"role":"assistant","content":"\\u00e9é"},"finish_reason":"stop"}],\n "created":1.0, "model":"m","x":1e400,"object":"chat.completion", ${usage} }\n`
    await using gateway = await startGateway({ answer: () => ({ body, split: [40, 41, 90] }) })
    const { status, headers, text } = await post(gateway.server, asking(), { headers: { 'X-Request-Id': 'mine' } })
    assert.deepEqual([status, text], [200, body])
    assert.equal(headers['x-request-id'], 'mine')
    assert.equal(headers['content-length'], String(Buffer.byteLength(body)))
    assert.match(headers['content-type']!, /^application\/json/)
  })

  test('is the same if it was compressed', async () => {
    await using gateway = await startGateway({ answer: () => ({ gzip: true, text: 'pressed' }) })
    assert.equal(JSON.parse((await post(gateway.server, asking())).text).choices[0].message.content, 'pressed')
  })

  for (const usage of ['none', 'zeros'] as const) {
    test(`says what was used where its provider says ${usage}`, async () => {
      const text = 'eight words in an answer that is counted'
      await using gateway = await startGateway({ answer: () => ({ usage, text }) })
      const body = JSON.parse((await post(gateway.server, asking())).text)
      assert.equal(body.choices[0].message.content, text)
      assert.ok(body.usage.prompt_tokens > 0 && body.usage.completion_tokens >= 8, JSON.stringify(body.usage))
      assert.equal(body.usage.total_tokens, body.usage.prompt_tokens + body.usage.completion_tokens)
    })
  }

  test('may begin with a byte order mark', async () => {
    const message = { role: 'assistant', content: 'marked' }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    const body = JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices })
    await using gateway = await startGateway({ answer: () => ({ body: `\ufeff${body}`, split: [1, 2, 60] }) })
    const { text } = await post(gateway.server, asking())
    assert.equal(JSON.parse(text).choices[0].message.content, 'marked')
  })

  test('keeps the total of its provider, which may include more', async () => {
    const message = { role: 'assistant', content: 'x' }
    const whole = (usage: object) => ({
      ...{ id: 'x', object: 'chat.completion', created: 1, model: 'm' },
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage,
    })
    const own = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 90 }
    const given = [own, { ...own, total_tokens: 0 }, { ...own, prompt_tokens: 0 }]
    await using gateway = await startGateway({ answer: (_, n) => ({ body: JSON.stringify(whole(given[n]!)) }) })
    const usage = async () => JSON.parse((await post(gateway.server, asking())).text).usage
    assert.deepEqual(await usage(), own)
    assert.deepEqual(await usage(), { ...own, total_tokens: 7 })
    const counted = await usage()
    assert.equal(counted.total_tokens, counted.prompt_tokens + 4)
  })

  for (const [what, message] of Object.entries({
    thoughts: { reasoning: 'a long thought' },
    'a custom call': { tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'sh', input: 'ls' } }] },
    'a call of old': { function_call: { name: 'now', arguments: '{}' } },
    'spoken words': { audio: { id: 'a', data: 'AAAA', transcript: 'I say this' } },
  })) {
    test(`has ${what} counted here if its provider does not count them`, async () => {
      const choices = [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: 'stop' }]
      const body = JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices })
      await using gateway = await startGateway({ answer: () => ({ body }) })
      assert.ok(JSON.parse((await post(gateway.server, asking())).text).usage.completion_tokens > 0)
    })
  }

  test('has tool calls counted', async () => {
    await using gateway = await startGateway({ answer: () => ({ ...CALLS, usage: 'none' }) })
    const { choices, usage } = JSON.parse((await post(gateway.server, asking())).text)
    assert.equal(choices[0].finish_reason, 'tool_calls')
    assert.ok(usage.completion_tokens > 10)
  })
})

describe('a streamed answer', () => {
  for (const [name, script] of Object.entries({
    'a text': { text: ['Grüße', ' 😀', ' "usage":{', '\n\ndata: [DONE]'] },
    'parallel calls of tools': CALLS,
    'thoughts and a refusal': {
      thinking: ['hm', ' hm'],
      refusal: 'no',
      usage: { prompt_tokens: 9, completion_tokens: 4 },
    },
    'several choices': { others: ['a b', 'c d'] },
    'comments between its events': { comments: true },
    'lines that end with returns and feeds': { line_end: '\r\n' as const },
    'bytes that come one by one': { split: 'every' as const },
    'compressed bytes': { gzip: true },
  })) {
    test(`passes through byte by byte: ${name}`, async () => {
      await using gateway = await startGateway({ answer: (_, n) => ({ ...script, gzip: 'gzip' in script && n === 0 }) })
      const body = asking({ stream: true, stream_options: { include_usage: true } })
      const { status, headers, text } = await post(gateway.server, body)
      assert.equal(status, 200)
      assert.match(headers['content-type']!, /^text\/event-stream/)
      assert.equal(headers['x-accel-buffering'], 'no')
      const expected = await direct(gateway.upstream.base_url, body.replace(MODEL, 'gpt-4o-mini'))
      assert.equal(text.trimEnd(), expected.trimEnd())
    })
  }

  test('has no usage if the client did not request it, and its owner is charged all the same', async () => {
    await using gateway = await startGateway({
      answer: () => ({ usage: { prompt_tokens: 70, completion_tokens: 30 } }),
    })
    const { text } = await post(gateway.server, asking({ stream: true }))
    assert.equal(textIn(text), 'Hello from upstream')
    assert.ok(chunksIn(text).every(({ usage, choices }) => !usage && choices.length > 0))
    assert.equal(dataOf(text).at(-1), '[DONE]')
    const metrics = await gateway.server.context.metrics.text()
    assert.match(metrics, /svc_model_tokens_total\{provider="up",direction="input"\} 70\n/)
    assert.match(metrics, /svc_model_tokens_total\{provider="up",direction="output"\} 30\n/)
    assert.match(metrics, /svc_model_calls_total\{provider="up",outcome="completed"\} 1\n/)
  })

  for (const usage of ['none', 'zeros'] as const) {
    test(`says what was used where its provider says ${usage}`, async () => {
      await using gateway = await startGateway({ answer: () => ({ usage }) })
      const options = { stream: true, stream_options: { include_usage: true } }
      const chunks = chunksIn((await post(gateway.server, asking(options))).text)
      const { id, usage: counted, choices } = chunks.at(-1)
      assert.deepEqual([id, choices], [chunks[0].id, []])
      assert.ok(counted.prompt_tokens > 0 && counted.completion_tokens >= 3, JSON.stringify(counted))
    })
  }

  test('is ended if its server omits the end', async () => {
    await using gateway = await startGateway({ answer: () => ({ no_done: true }) })
    const { text } = await post(gateway.server, asking({ stream: true }))
    assert.equal(textIn(text), 'Hello from upstream')
    assert.equal(dataOf(text).at(-1), '[DONE]')
  })
})
