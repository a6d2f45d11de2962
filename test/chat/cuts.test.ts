// A chat goes on when its socket is cut: a client that resumes, and joins pieces by sequence and offset, has every word
// once.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { connect, type Frame } from '../helpers/socket.ts'
import { type Bench, messagesOf, newThread, Reader, startChat } from './kit.ts'

const scale = Number(process.env.SVC_TEST_SCALE ?? 1)

let bench: Bench
before(async () => {
  bench = await startChat()
})
after(() => bench[Symbol.asyncDispose]())

type Step = { say: string } | { cut: true } | { again: true } | { superseded: string }

const word = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' })

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: word.map((say) => ({ say })) },
  { weight: 3, arbitrary: fc.constant({ cut: true } as const) },
  { weight: 1, arbitrary: fc.constant({ again: true } as const) },
  { weight: 1, arbitrary: word.map((text) => ({ superseded: `And ${text}` })) },
)

/** A client that resumes after the end learns that there is no turn. */
const isEnd = (frame: Frame) =>
  (frame.type === 'turn_update' && frame.status === 'completed') ||
  (frame.type === 'chat_resumed' && frame.turn_id === null)

test('no word is missing or doubled, however often and wherever the socket is cut', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), fc.boolean(), async (steps, waits) => {
      const thread_id = await newThread(bench.server)
      const reader = new Reader()
      let client = await connect(bench.server)
      try {
        const said = async (content: string) => {
          const answer = bench.led.answer(bench.led.answers.length)
          client.command('chat_message', { thread_id, content, model: 'led/model' })
          return answer
        }
        let led = await said('Go')
        let expected = ''
        let seen = 0
        const read = () => {
          for (; seen < client.frames.length; seen++) reader.take(client.frames[seen]!)
        }
        const back = () => client.command('resume_chat', { thread_id, after_sequence: reader.last })
        for (const one of steps) {
          if ('say' in one) {
            led.say(one.say)
            expected += one.say
            if (waits) await client.settled()
          } else if ('cut' in one) {
            read()
            client.ws.terminate()
            client = await connect(bench.server, { mode: seen % 2 === 0 ? 'text' : 'binary' })
            seen = 0
            back()
          } else if ('again' in one) {
            read()
            back()
          } else {
            led = await said(one.superseded)
            expected = ''
          }
        }
        // In half of the cases the end may come before the client is back.
        if (waits) await client.settled()
        led.end()
        await client.next(isEnd)
        read()
        back()
        await client.next({ type: 'chat_resumed', turn_id: null })
        await client.settled()
        read()
        const stored = await messagesOf(bench.server, thread_id)
        assert.equal(stored.at(-1)!.content, expected)
        const told = [...reader.stored.values()].sort((a, b) => a.sequence - b.sequence)
        assert.deepEqual(told, stored)
        for (const { role, sequence, content } of stored) {
          const pieces = reader.written.get(sequence) ?? ''
          if (role === 'assistant')
            assert.ok((content as string).startsWith(pieces), `${pieces} is not how ${content} begins`)
          if (reader.done.has(sequence)) assert.equal(pieces, content, 'who was told the last piece has all of them')
        }
        if (waits) assert.ok(reader.done.has(stored.length), 'who was there at the end was told the last piece')
      } finally {
        client.ws.terminate()
      }
    }),
    { numRuns: 25 * scale, endOnFailure: true },
  )
})
