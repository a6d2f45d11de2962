// Workflows and pictures through `/v1/chat/completions` for clients: the job's id in a header, the answer of its output, its end as an error; and
// URLs of pictures, which the upstream gets as bytes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ChatCompletion, ChatCompletionChunk, JobSnapshot } from '../../generated/types.ts'
import { asking, hello, waiting } from '../completions/workflow-kit.ts'
import { call, type ErrorBody } from '../helpers/http.ts'
import { pricedProvider } from '../helpers/priced-provider.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { startUpstream } from '../helpers/upstream.ts'
import { httpServer } from '../net/servers.ts'
import { created } from './kit.ts'
import { stored } from './storage-kit.ts'

const COMPLETIONS = '/v1/chat/completions'
const says = (id: string, more: object = {}) => ({
  body: { model: `workflow/${id}`, messages: [{ role: 'user', content: 'Ada' }], ...more },
})

/** The data of a stream's events. */
function eventsOf(text: string): string[] {
  return text.split('\n\n').flatMap((event) => (event.startsWith('data: ') ? [event.slice(6)] : []))
}

function chunksOf(text: string): ChatCompletionChunk[] {
  const events = eventsOf(text)
  assert.equal(events.at(-1), '[DONE]')
  return events.slice(0, -1).map((event) => JSON.parse(event) as ChatCompletionChunk)
}

const textOf = (chunks: ChatCompletionChunk[]) =>
  chunks.map(({ choices }) => choices?.[0]?.delta.content ?? '').join('')

async function snapshot(server: TestServer, job_id: unknown): Promise<JobSnapshot> {
  return (await call<JobSnapshot>(server, 'GET', `/api/jobs/${String(job_id)}`)).body
}

describe('a workflow in a completion', () => {
  test('gives a buffered answer with the id of its job', async () => {
    await using server = await startServer()
    const { id } = await created(server, hello())
    const { status, body, headers } = await call<ChatCompletion>(server, 'POST', COMPLETIONS, says(id))
    assert.equal(status, 200)
    assert.deepEqual([body.model, body.choices[0]?.message.content], [`workflow/${id}`, 'Hello, Ada!'])
    assert.equal(body.choices[0]?.finish_reason, 'stop')
    assert.deepEqual(body.usage, { prompt_tokens: 1, completion_tokens: 3, total_tokens: 4 })
    const job = await snapshot(server, headers['x-svc-job-id'])
    assert.deepEqual([job.status, job.workflow_id], ['completed', id])
  })

  test('gives a streamed answer, and runs on without its client', async () => {
    const opened = Promise.withResolvers<void>()
    const provider = pricedProvider({ answer: () => ({ waits: { before: 2, for: () => opened.promise } }) })
    await using server = await startServer({ providers: [provider] })
    const { id } = await created(server, asking('priced/small'))
    const leaving = new AbortController()
    const ask = (signal?: AbortSignal) =>
      fetch(server.url + COMPLETIONS, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(says(id, { stream: true, stream_options: { include_usage: true } }).body),
        ...(signal ? { signal } : {}),
      })
    const [left, stayed] = [await ask(leaving.signal), await ask()]
    const reader = left.body!.pipeThrough(new TextDecoderStream()).getReader()
    let seen = ''
    while (!seen.includes(' two')) seen += (await reader.read()).value
    leaving.abort()
    await assert.rejects(reader.read())
    const job_id = left.headers.get('x-svc-job-id')
    assert.equal((await snapshot(server, job_id)).status, 'running')
    opened.resolve()
    const chunks = chunksOf(await stayed.text())
    assert.equal(textOf(chunks), 'one two three')
    assert.equal(chunks[0]?.choices[0]?.delta.role, 'assistant')
    assert.ok((chunks.at(-1)?.usage?.completion_tokens ?? 0) > 0)
    const done = await until('the job', async () => {
      const job = await snapshot(server, job_id)
      return job.status === 'completed' && job
    })
    assert.deepEqual(done.result?.outputs, { answer: ['one', ' two', ' three'] })
  })

  test('ends with the error of its job: job_failed, job_suspended', async () => {
    const provider = pricedProvider({ answer: () => ({ fails: { before: 0, with: new Error('sk-secret') } }) })
    await using server = await startServer({ providers: [provider] })
    const failing = await created(server, asking('priced/small'))
    const asks = await created(server, waiting('human.Approval', {}, 'approved'))
    for (const [id, type] of [
      [failing.id, 'job_failed'],
      [asks.id, 'job_suspended'],
    ] as const) {
      const { status, body, text, headers } = await call<ErrorBody>(server, 'POST', COMPLETIONS, says(id))
      assert.deepEqual([status, body.error.type, body.error.code], [422, type, 422], text)
      assert.equal((await snapshot(server, headers['x-svc-job-id'])).workflow_id, id)
      assert.doesNotMatch(text, /sk-secret/)
    }
  })

  test('that is unknown or foreign is an unknown model', async () => {
    await using server = await startServer()
    const { text } = await call<ErrorBody>(server, 'POST', COMPLETIONS, says('none'))
    const { error } = JSON.parse(text) as { error: { type: string; param: string; code: number } }
    assert.deepEqual([error.type, error.param, error.code], ['model_not_found', 'model', 404])
  })
})

describe('a picture in a completion', () => {
  const PNG = Buffer.from('\x89PNG\r\n\x1a\nthe rest', 'latin1')
  const DATA = `data:image/png;base64,${PNG.toString('base64')}`
  const shows = (url: string) => ({
    body: {
      model: 'up/gpt-4o',
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
      unknown_field: 1.5,
    },
  })

  test('is sent to the upstream as bytes from any URL, and the rest of the request is unchanged', async () => {
    await using upstream = await startUpstream()
    await using web = await httpServer((_request, response) => response.end(PNG))
    const allowed = { SVC_HTTP_NODE_ALLOW: `127.0.0.1:${web.port}` }
    const environment = { SVC_MODEL_SERVERS: `up=${upstream.base_url}`, ...allowed }
    await using server = await startServer({ environment })
    const { id } = await stored(server, PNG)
    for (const url of [`${web.url}/x`, `asset://${id}`, DATA]) {
      const { status, text } = await call(server, 'POST', COMPLETIONS, shows(url))
      assert.equal(status, 200, text)
      const sent = upstream.posts.at(-1)?.json
      assert.deepEqual([sent.messages, sent.unknown_field, sent.model], [shows(DATA).body.messages, 1.5, 'gpt-4o'])
    }
  })

  test('from a private address is refused without a call of the upstream', async () => {
    await using upstream = await startUpstream()
    await using server = await startServer({ environment: { SVC_MODEL_SERVERS: `up=${upstream.base_url}` } })
    const { status, text } = await call(server, 'POST', COMPLETIONS, shows(`${upstream.origin}/v1/models`))
    const { error } = JSON.parse(text) as { error: { type: string; param: string } }
    assert.deepEqual([status, error.param], [400, 'messages[0].content[0].image_url.url'])
    assert.deepEqual(upstream.posts, [])
  })
})
