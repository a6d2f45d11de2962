// A server starts with an unfinished chat turn of a killed server, on a full disk or with a damaged thread.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Health, Message } from '../../generated/types.ts'
import { lines, messagesOf, newThread } from '../chat/kit.ts'
import { cannotMount, fill, smallDisk } from '../db/kit.ts'
import { call } from '../helpers/http.ts'
import { changeKilled } from '../helpers/killed-database.ts'
import { type ServingProcess, serve } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { startUpstream, type Upstream } from '../helpers/upstream.ts'

const DISK_BYTES = 6 * 1024 * 1024

let upstream: Upstream
let environment: Record<string, string>
before(async () => {
  upstream = await startUpstream({ answer: () => ({ hangs: 'head' }) })
  environment = { OPENAI_BASE_URL: `${upstream.origin}/v1`, OPENAI_API_KEY: 'sk-of-a-row' }
})
after(() => upstream[Symbol.asyncDispose]())

/** Leaves threads in the folder, each with an unfinished turn. */
async function killedWithTurns(folder: string, count: number): Promise<string[]> {
  const ids: string[] = []
  await using server = await serve(folder, environment)
  await using client = await connect(server)
  for (let thread = 0; thread < count; thread++) {
    const thread_id = await newThread(server, `thread ${thread}`)
    client.command('chat_message', { thread_id, content: 'Hello', model: 'openai/gpt-4o' })
    await client.next({ type: 'turn_update', status: 'running', thread_id })
    ids.push(thread_id)
  }
  server.kill('SIGKILL')
  await server.ended()
  return ids
}

const databaseOf = async (server: ServingProcess) =>
  (await call<Health>(server, 'GET', '/health')).body.services.database
const linesOf = async (server: ServingProcess, id: string) => lines(await messagesOf(server, id))

describe('a turn that a killed server left unfinished', () => {
  test('prevents no start on a full disk, and is stored once there is room', {
    skip: cannotMount,
  }, async () => {
    using disk = smallDisk(DISK_BYTES)
    const ids = await killedWithTurns(disk.path, 2)
    // The room that is reserved for a start would suffice for the turns.
    rmSync(join(disk.path, 'reserved-room-of-svc.db'))
    const filled = fill(disk.path)
    await using second = await serve(disk.path, environment)
    await until('the health', async () => (await databaseOf(second)) === 'full')
    for (const id of ids) assert.deepEqual(await linesOf(second, id), ['user completed: Hello'])
    assert.equal((await call(second, 'GET', '/api/workflows')).status, 200)
    await using follower = await connect(second)
    follower.command('resume_chat', { thread_id: ids[1]!, after_sequence: 1 })
    await follower.next({ type: 'chat_resumed' })
    filled[Symbol.dispose]()
    const told = await follower.next({ type: 'message', thread_id: ids[1]! })
    assert.equal((told.message as unknown as Message).status, 'interrupted')
    for (const id of ids)
      assert.deepEqual(await linesOf(second, id), ['user completed: Hello', 'assistant interrupted: '])
    assert.equal(await databaseOf(second), 'healthy')
  })

  test('stays unchanged in a damaged thread, and the rest is served', async () => {
    const folder = temporaryFolder()
    try {
      const [damaged, sound] = (await killedWithTurns(folder, 2)) as [string, string]
      changeKilled(folder, (db) => {
        db.prepare("update thread set title = 'thread X' where id = ?").run(damaged)
      })
      for (let start = 0; start < 2; start++) {
        await using server = await serve(folder, { ...environment, SVC_LOG_LEVEL: 'error' })
        assert.equal(await databaseOf(server), 'damaged')
        assert.deepEqual(await linesOf(server, sound), ['user completed: Hello', 'assistant interrupted: '])
        assert.equal((await call(server, 'GET', `/api/threads/${damaged}`)).status, 500)
        assert.match(server.stderr(), /a turn stays unfinished: its thread is damaged/)
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test('is stored with the next message of its thread, where that comes before the next attempt', {
    skip: cannotMount,
  }, async () => {
    using disk = smallDisk(DISK_BYTES)
    const [thread_id] = (await killedWithTurns(disk.path, 1)) as [string]
    const filled = fill(disk.path)
    await using second = await serve(disk.path, environment)
    filled[Symbol.dispose]()
    await using client = await connect(second)
    client.command('chat_message', { thread_id, content: 'Once more', model: 'builtin/echo' })
    await client.next({ type: 'turn_update', status: 'completed' })
    const said = (await linesOf(second, thread_id)).map((line) => line.split(':')[0])
    assert.deepEqual(said, ['user completed', 'assistant interrupted', 'user completed', 'assistant completed'])
  })
})
