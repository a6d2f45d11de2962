// Pictures, sounds and files in threads: a part that no model accepts is not stored, and a part that this model refuses does not end its thread.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ContentPart } from '../../generated/types.ts'
import { ProviderError } from '../../src/models/provider-error.ts'
import { type Bench, messagesOf, newThread, startChat } from '../chat/kit.ts'
import { call } from '../helpers/http.ts'
import { connect, type Frame } from '../helpers/socket.ts'

let bench: Bench
before(async () => {
  bench = await startChat()
})
after(() => bench[Symbol.asyncDispose]())

const ended = (frame: Frame) => frame.type === 'turn_update' && frame.status !== 'running'
const image = (url: string) => ({ type: 'image_url', image_url: { url } })
const PIXEL = 'data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA='

describe('a part that no model accepts is refused, and not stored:', () => {
  const NEVER: Readonly<Record<string, object>> = {
    'a picture of the machine': image('file:///etc/passwd'),
    'an address of another kind': image('ftp://example.com/a.png'),
    'data that is no picture': image('data:text/plain;base64,AAAA'),
    'data that is no base64': image('data:image/png;base64,*'),
    'a sound that is no base64': { type: 'input_audio', input_audio: { data: '*', format: 'wav' } },
    'a file by an address': { type: 'file', file: { file_data: 'https://example.com/a.pdf' } },
    'a file without anything': { type: 'file', file: { filename: 'a.pdf' } },
  }
  for (const [what, part] of Object.entries(NEVER))
    test(what, async () => {
      await using client = await connect(bench.server)
      const thread_id = await newThread(bench.server)
      const content = [{ type: 'text', text: 'Look' }, part]
      const { error } = await client.ask('chat_message', { thread_id, content, model: 'led/model' })
      const { code, problems } = error as { code: string; problems: { path: string }[] }
      assert.equal(code, 'INVALID_REQUEST')
      assert.match(problems[0]!.path, /^\/data\/content\/1\//)
      const added = await call(bench.server, 'POST', `/api/threads/${thread_id}/messages`, { body: { content } })
      assert.equal(added.status, 400)
      assert.deepEqual(await messagesOf(bench.server, thread_id), [])
    })
})

describe('a part that this model refuses fails its own turn, and the thread continues:', () => {
  const NOT_NOW: Readonly<Record<string, object>> = {
    'a picture at a private address': image('http://127.0.0.1:9/x.png'),
    'a picture that is gone': image('asset://asset_nowhere'),
    'a sound': { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    'a file of another provider': { type: 'file', file: { file_id: 'x' } },
  }
  for (const [what, part] of Object.entries(NOT_NOW))
    test(what, async () => {
      await using client = await connect(bench.server)
      const thread_id = await newThread(bench.server)
      const content = [{ type: 'text', text: 'Look' }, part]
      client.command('chat_message', { thread_id, content, model: 'builtin/echo' })
      const failed = await client.next(ended)
      assert.deepEqual([failed.status, (failed.error as { code: string }).code], ['failed', 'INVALID_REQUEST'])
      client.command('chat_message', { thread_id, content: 'Never mind', model: 'builtin/echo' })
      await client.next({ type: 'turn_update', status: 'completed' })
      assert.equal((await messagesOf(bench.server, thread_id)).at(-1)!.content, 'Never mind')
    })
})

test('a provider that refuses media of older messages gets descriptions instead, one by one if it names the messages', async () => {
  await using client = await connect(bench.server)
  const thread_id = await newThread(bench.server)
  const path = `/api/threads/${thread_id}/messages`
  for (const text of ['first', 'second']) {
    const content = [{ type: 'text', text }, image(PIXEL)]
    assert.equal((await call(bench.server, 'POST', path, { body: { content } })).status, 201)
  }
  const first = bench.led.answers.length
  client.command('chat_message', { thread_id, content: [image(PIXEL)], model: 'led/model' })
  const types = async (at: number) => {
    const { messages } = (await bench.led.answer(first + at)).request
    return messages.map(({ content }) => (content as ContentPart[]).at(-1)!.type)
  }
  const refuse = async (at: number, param: string | null) =>
    (await bench.led.answer(first + at)).fail(new ProviderError('rejected', 'No pictures.', { param }))
  assert.deepEqual(await types(0), ['image_url', 'image_url', 'image_url'])
  await refuse(0, 'messages[1].content[1]')
  assert.deepEqual(await types(1), ['image_url', 'text', 'image_url'])
  await refuse(1, null)
  assert.deepEqual(await types(2), ['text', 'text', 'image_url'])
  await refuse(2, null)
  const failed = await client.next(ended)
  assert.deepEqual([failed.status, (failed.error as { message: string }).message], ['failed', 'No pictures.'])
  assert.equal(bench.led.answers.length, first + 3, 'nothing is asked in vain')
})
