// Failed writes of a chat: a refused message or deletion does not affect the running turn, and an answer that cannot be stored is reported as failed.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { type Bench, type Led, lines, messagesOf, newThread, startChat } from '../chat/kit.ts'
import { cannotMount, fill, smallDisk } from '../db/kit.ts'
import { call } from '../helpers/http.ts'
import { type Client, connect, type Frame } from '../helpers/socket.ts'

const DISK_BYTES = 16 * 1024 * 1024
const LARGE = 'x'.repeat(8_000_000)

const codeOf = ({ error }: Frame) => (error as { code: string } | undefined)?.code

interface Begun {
  readonly thread_id: string
  readonly led: Led
}

async function begun({ server, led }: Bench, client: Client): Promise<Begun> {
  const thread_id = await newThread(server)
  const answer = led.answer(0)
  client.command('chat_message', { thread_id, content: 'Go on', model: 'led/model' })
  const first = await answer
  first.say('and on')
  await client.next({ type: 'chunk', thread_id })
  return { thread_id, led: first }
}

/** Makes the database refuse a write until it is disposed of. */
function refusing({ server }: Bench, what: string): Disposable {
  const db = new Database(join(server.data_dir, 'svc.db'))
  db.exec(`create trigger refused before ${what} begin select raise(abort, 'refused'); end`)
  return {
    [Symbol.dispose]() {
      db.exec('drop trigger refused')
      db.close()
    },
  }
}

async function goesOn({ server }: Bench, client: Client, { thread_id, led }: Begun): Promise<void> {
  assert.equal(led.signal.aborted, false)
  led.end()
  const ended = await client.next(({ type, status }) => type === 'turn_update' && status !== 'running')
  assert.equal(ended.status, 'completed')
  assert.deepEqual(lines(await messagesOf(server, thread_id)), ['user completed: Go on', 'assistant completed: and on'])
}

describe('a turn continues', () => {
  test('if the database refuses a message that would supersede it', async () => {
    await using bench = await startChat()
    await using client = await connect(bench.server)
    const turn = await begun(bench, client)
    {
      using _refusing = refusing(bench, 'insert on message')
      const data = { thread_id: turn.thread_id, content: 'Second', model: 'led/model' }
      assert.equal(codeOf(await client.ask('chat_message', data)), 'INTERNAL_ERROR')
    }
    await goesOn(bench, client, turn)
  })

  test('if the disk is full when a message would supersede it', { skip: cannotMount }, async () => {
    using disk = smallDisk(DISK_BYTES)
    await using bench = await startChat({ data_dir: disk.path })
    await using client = await connect(bench.server)
    const turn = await begun(bench, client)
    {
      using _filled = fill(disk.path)
      const data = { thread_id: turn.thread_id, content: LARGE, model: 'led/model' }
      assert.equal(codeOf(await client.ask('chat_message', data)), 'SERVICE_UNAVAILABLE')
    }
    await goesOn(bench, client, turn)
  })

  test('if its thread cannot be deleted', async () => {
    await using bench = await startChat()
    await using client = await connect(bench.server)
    const turn = await begun(bench, client)
    {
      // The contents of a thread are removed before the thread; if that takes long, the rest is removed later.
      using _refusing = refusing(bench, 'delete on turn')
      assert.equal((await call(bench.server, 'DELETE', `/api/threads/${turn.thread_id}`)).status, 500)
    }
    await goesOn(bench, client, turn)
  })
})

describe('an answer that was sent to its end and cannot be stored is reported as failed', () => {
  async function isToldAsFailed(
    { server }: Bench,
    client: Client,
    { thread_id, led }: Begun,
  ): Promise<string | undefined> {
    led.end()
    const last = await client.next({ type: 'chunk', thread_id, done: true })
    assert.equal(last.content, '')
    const ended = await client.next(({ type, status }) => type === 'turn_update' && status !== 'running')
    assert.equal(ended.status, 'failed')
    assert.deepEqual(lines(await messagesOf(server, thread_id)), ['user completed: Go on'])
    return codeOf(ended)
  }

  test('if the database refuses it', async () => {
    await using bench = await startChat()
    await using client = await connect(bench.server)
    const turn = await begun(bench, client)
    using _refusing = refusing(bench, 'insert on message')
    assert.equal(await isToldAsFailed(bench, client, turn), 'INTERNAL_ERROR')
  })

  test('if the disk is full', { skip: cannotMount }, async () => {
    using disk = smallDisk(DISK_BYTES)
    await using bench = await startChat({ data_dir: disk.path })
    await using client = await connect(bench.server)
    const turn = await begun(bench, client)
    using _filled = fill(disk.path)
    turn.led.say(LARGE)
    // The answer comes in chunks after the earlier messages.
    const isLast = ({ type, offset, content }: Frame) =>
      type === 'chunk' && (offset as number) + (content as string).length >= LARGE.length
    await client.next(isLast)
    assert.equal(await isToldAsFailed(bench, client, turn), 'SERVICE_UNAVAILABLE')
  })
})
