// Followers of a chat: a slow peer gets fewer and longer chunks and every message; and concurrent commands for a thread.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { Message } from '../../generated/types.ts'
import { LOCAL_PRINCIPAL } from '../../src/access/principal.ts'
import { FollowQuota } from '../../src/follow-quota.ts'
import type { Steps } from '../../src/shared/time-slices.ts'
import { ChatFollowers } from '../../src/sockets/chat-followers.ts'
import { type Bench, messagesOf, newThread, Reader, startChat } from '../chat/kit.ts'
import { call } from '../helpers/http.ts'
import { until } from '../helpers/server.ts'
import { connect, type Frame } from '../helpers/socket.ts'

const scale = Number(process.env.SVC_TEST_SCALE ?? 1)

let bench: Bench
before(async () => {
  bench = await startChat()
})
after(() => bench[Symbol.asyncDispose]())

const ended = (thread_id: string) => (frame: Frame) =>
  frame.thread_id === thread_id && frame.type === 'turn_update' && frame.status !== 'running'

async function begun(client: Awaited<ReturnType<typeof connect>>, thread_id: string) {
  const answer = bench.led.answer(bench.led.answers.length)
  client.command('chat_message', { thread_id, content: 'Flood', model: 'led/model' })
  const led = await answer
  await client.next({ type: 'message', thread_id })
  return led
}

test('a client that does not read for a while gets fewer and longer chunks, and no word is missing', async () => {
  await using client = await connect(bench.server)
  await using other = await connect(bench.server)
  const [first, second] = [await newThread(bench.server), await newThread(bench.server)]
  // The first chunks fill the buffers between server and client.
  const floods = [await begun(client, first), await begun(client, second)]
  other.command('resume_chat', { thread_id: second })
  await other.next({ type: 'chat_resumed' })
  client.ws.pause()
  const count = 900
  for (const led of floods) {
    for (let at = 0; at < count; at++) led.say(`${at}`.padEnd(10_000, '.'))
    led.end()
    await until('all of it to be read', () => led.ended)
  }
  await other.next(ended(second))
  client.ws.resume()
  for (const thread_id of [first, second]) await client.next(ended(thread_id))
  const reader = new Reader()
  const told = client.frames.filter(({ thread_id }) => thread_id === second)
  for (const frame of told) reader.take(frame)
  const stored = (await messagesOf(bench.server, second)).at(-1) as Message
  assert.equal((stored.content as string).length, count * 10_000)
  assert.equal(reader.written.get(2), stored.content)
  assert.deepEqual(reader.stored.get(2), stored)
  const pieces = told.filter(({ type }) => type === 'chunk').length
  assert.ok(pieces < count, `${pieces} pieces`)
  assert.equal(other.frames.filter(({ type }) => type === 'chunk').length, count + 1)
})

type Deed = 'say' | 'stop' | 'stop all' | 'add' | 'resume' | 'leave'

const deeds = fc.array(
  fc.tuple(fc.nat(2), fc.constantFrom<Deed>('say', 'say', 'say', 'stop', 'stop all', 'add', 'resume', 'leave')),
  { minLength: 1, maxLength: 20 },
)

test('after concurrent commands of several clients for a thread, each message has one answer, and the thread is idle', async () => {
  await fc.assert(
    fc.asyncProperty(deeds, async (all) => {
      const thread_id = await newThread(bench.server)
      const clients = await Promise.all([0, 1, 2].map(() => connect(bench.server)))
      let said = 0
      const added: Promise<number>[] = []
      for (const [who, deed] of all) {
        const client = clients[who]!
        if (deed === 'say')
          client.command('chat_message', { thread_id, content: `said ${said++}`, model: 'builtin/echo' })
        if (deed === 'stop') client.command('stop', { thread_id })
        if (deed === 'stop all') client.command('stop')
        if (deed === 'resume') client.command('resume_chat', { thread_id, after_sequence: 0 })
        if (deed === 'add') {
          const path = `/api/threads/${thread_id}/messages`
          added.push(call(bench.server, 'POST', path, { body: { content: 'added' } }).then(({ status }) => status))
        }
        if (deed === 'leave') {
          // Its messages are processed first: a closing socket is not read any more.
          await client.settled()
          client.close()
          await client.closed()
          clients[who] = await connect(bench.server)
        }
      }
      const statuses = await Promise.all(added)
      for (const client of clients) await client.settled()
      const stored = await until('all to be answered', async () => {
        const messages = await messagesOf(bench.server, thread_id)
        const answered = messages.filter(({ role }) => role === 'assistant')
        return answered.length === said ? messages : null
      })
      assert.equal(
        stored.filter(({ role }) => role === 'user').length,
        said + statuses.filter((one) => one === 201).length,
      )
      stored.forEach(({ role, content }, at) => {
        if (role === 'user' && content !== 'added') assert.equal(stored[at + 1]?.role, 'assistant')
      })
      await until('the thread to be idle', () => !bench.server.context.chat.turns.isRunning(thread_id))
      for (const client of clients) {
        client.close()
        await client.closed()
      }
      await until('nothing to be remembered', () => bench.server.context.chat.tracked_threads === 0)
    }),
    { numRuns: 20 * scale, endOnFailure: true },
  )
})

test('all sockets together can follow a limited number of threads, until one of them closes', async () => {
  await using own = await startChat({ max_followed_threads: 8 })
  const threads: string[] = []
  while (threads.length < 8) threads.push(await newThread(own.server))
  await using client = await connect(own.server)
  await using other = await connect(own.server)
  const follow = async (socket: typeof client, thread_id: string) => {
    socket.command('resume_chat', { thread_id })
    return socket.next({ thread_id })
  }
  for (const thread_id of threads.slice(0, 6)) assert.equal((await follow(client, thread_id)).type, 'chat_resumed')
  const refused = await follow(other, threads[6]!)
  assert.equal((refused.error as Frame).code, 'RATE_LIMITED')
  other.command('chat_message', { thread_id: threads[7]!, content: 'Hello', model: 'builtin/echo' })
  const untold = await other.next({ thread_id: threads[7]!, type: 'turn_update' })
  assert.equal((untold.error as Frame).code, 'RATE_LIMITED')
  assert.deepEqual(await messagesOf(own.server, threads[7]!), [])
  // A thread that is followed already needs no further place.
  assert.equal((await follow(client, threads[5]!)).type, 'chat_resumed')
  client.close()
  await until('room', async () => (await follow(other, threads[6]!)).type === 'chat_resumed')
})

test('a socket that closes stops following its threads in steps', () => {
  const closed = new AbortController()
  let left = 0
  let leaving: Iterator<void, unknown> = [].values()
  const pending = Promise.withResolvers<never>().promise
  const { log, transport } = bench.server.context
  const app = {
    log,
    chat: { turns: { follow: () => () => void left++ }, messages: () => [] },
    transport: { followed_threads: new FollowQuota('threads', 10_000) },
    schedulers: {
      reading: {
        isTurnUsed: false,
        turn: () => pending,
        run<T>(_owner: string, steps: Steps<T>): Promise<T> {
          leaving = steps
          return pending
        },
      },
    },
  }
  const followers = new ChatFollowers({
    app,
    principal: LOCAL_PRINCIPAL,
    closed: closed.signal,
    congested: false,
    drained: () => pending,
    send: () => {},
    isLarge: () => false,
    encodeLarge: () => pending,
    holdLarge: () => pending,
    reader: transport.response_buffers.createReader('me', () => {}),
  })
  for (let at = 0; at < 1_000; at++) followers.follow(`thread-${at}`)
  closed.abort()
  assert.equal(left, 0)
  let steps = 0
  while (!leaving.next().done) steps++
  assert.equal(left, 1_000)
  assert.ok(steps > 50, `${steps} steps`)
})
