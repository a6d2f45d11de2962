// After a server is killed during an answer, the next server stores the partial text as interrupted, once, and the chat
// goes on.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { checkDatabase } from '../../src/db/integrity/database-check.ts'
import { graph, node, sink } from '../engine/kit.ts'
import { inFolder } from '../helpers/folder.ts'
import { serve, storedJobs } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { stored } from '../models/kit.ts'
import { lines, messagesOf, newThread, startChat } from './kit.ts'

/** A model server with OpenAI's protocol that writes words without end, or calls the first tool that it is given. */
async function endless(): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((request, response) => {
    if (request.url?.endsWith('/models')) {
      response.setHeader('Content-Type', 'application/json')
      return response.end(JSON.stringify({ object: 'list', data: [{ id: 'words', object: 'model' }] }))
    }
    response.setHeader('Content-Type', 'text/event-stream')
    const write = (delta: object, finish_reason: string | null = null) => {
      const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'words' }
      response.write(`data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta, finish_reason }] })}\n\n`)
    }
    json(request).then((body) => {
      const name = (body as { tools?: { function: { name: string } }[] }).tools?.[0]?.function.name
      if (name !== undefined) {
        write({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name, arguments: '{}' } }] })
        write({}, 'tool_calls')
        return response.end('data: [DONE]\n\n')
      }
      let count = 0
      const timer = setInterval(() => write({ content: `word${++count} ` }), 5)
      response.on('close', () => clearInterval(timer))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function draftIn(data_dir: string): string {
  const db = new Database(join(data_dir, 'svc.db'), { readonly: true })
  try {
    return (db.prepare('select text from draft order by thread_key, at').pluck().all() as string[]).join('')
  } finally {
    db.close()
  }
}

describe('a turn', () => {
  test('that a killed server was writing is stored as interrupted with its text so far, exactly once', async () => {
    const data_dir = temporaryFolder()
    try {
      await using model = await endless()
      let thread_id: string
      let drafted: string
      let told = ''
      {
        await using server = await serve(data_dir, {
          SVC_MODEL_SERVERS: `endless=${model.url}`,
          SVC_PROBE_LOCAL_MODELS: 'off',
        })
        thread_id = await newThread(server)
        await using client = await connect(server)
        client.command('chat_message', { thread_id, content: 'Write', model: 'endless/words' })
        drafted = await until('a draft', () => draftIn(data_dir))
        server.kill('SIGKILL')
        await server.ended()
        for (const { type, content } of client.frames) if (type === 'chunk') told += content
      }
      for (let start = 0; start < 2; start++) {
        await using bench = await startChat({ data_dir })
        const stored = await messagesOf(bench.server, thread_id)
        assert.equal(stored.length, 2)
        const { status, content, role, provider, model: name } = stored[1]!
        assert.deepEqual([role, status, provider, name], ['assistant', 'interrupted', 'endless', 'words'])
        assert.ok((content as string).startsWith(drafted), 'what was durable is there')
        assert.ok(told.startsWith(content as string), 'and nothing that was never said')
      }
      await using bench = await startChat({ data_dir })
      await using client = await connect(bench.server)
      client.command('chat_message', { thread_id, content: 'Once more', model: 'builtin/echo' })
      await client.next({ type: 'turn_update', status: 'completed' })
      assert.deepEqual(
        (await messagesOf(bench.server, thread_id)).map(({ status }) => status),
        ['completed', 'interrupted', 'completed', 'completed'],
      )
      assert.deepEqual(await checkDatabase(join(data_dir, 'svc.db')), [])
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test(
    'whose tool a killed server was running tells the model that the call may have taken effect: its job goes on',
    inFolder(async (data_dir) => {
      await using model = await endless()
      let thread_id: string
      {
        await using server = await serve(data_dir, { SVC_MODEL_SERVERS: `endless=${model.url}` })
        const nodes = [node('wait', 'control.Delay', { seconds: 1, value: 'done' }), sink('out')]
        const tools = [`workflow/${await stored(server, graph(nodes, ['wait.output->out.value']))}`]
        thread_id = await newThread(server)
        await using client = await connect(server)
        client.command('chat_message', { thread_id, content: 'Do it', model: 'endless/words', tools })
        await until('the job of the tool', () => storedJobs(data_dir, 'running') === 1)
        server.kill('SIGKILL')
        await server.ended()
      }
      await using bench = await startChat({ data_dir })
      await until('its end', () => storedJobs(data_dir, 'completed') === 1)
      await using client = await connect(bench.server)
      client.command('chat_message', { thread_id, content: 'Did you?', model: 'led/model' })
      const { messages } = (await bench.led.answer(0)).request
      assert.deepEqual(
        messages.map(({ role }) => role),
        ['user', 'assistant', 'tool', 'user'],
      )
      assert.match(String(messages[2]!.content), /may have taken effect, or still do so\. Find out .* before/)
    }),
  )

  test('that runs when the server ends is stored as interrupted, and its followers are told', async () => {
    const data_dir = temporaryFolder()
    try {
      let thread_id: string
      {
        await using bench = await startChat({ data_dir })
        thread_id = await newThread(bench.server)
        await using client = await connect(bench.server)
        client.command('chat_message', { thread_id, content: 'Write', model: 'led/model' })
        const led = await bench.led.answer(0)
        led.say('One word')
        await client.next({ type: 'chunk' })
        const closing = bench.server.close()
        await client.next({ type: 'turn_update', status: 'interrupted' })
        assert.equal((await client.closed()).code, 1012)
        await closing
        assert.equal(draftIn(data_dir), '')
      }
      await using bench = await startChat({ data_dir })
      assert.deepEqual(lines(await messagesOf(bench.server, thread_id)), [
        'user completed: Write',
        'assistant interrupted: One word',
      ])
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })
})
