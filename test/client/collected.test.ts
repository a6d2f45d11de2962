// An abort reaches whoever waits for an answer, also when memory was cleaned meanwhile.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { until } from '../helpers/server.ts'
import { fastClient, JOB, startScripted, statusEvent } from './kit.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

async function cleaned(): Promise<void> {
  for (let round = 0; round < 5; round++) {
    collect()
    await turn()
  }
}

test('a request that is given up ends, whatever was collected while it waited', { timeout: 20_000 }, async () => {
  const asked = Promise.withResolvers<void>()
  await using server = await startScripted({
    http: () => {
      asked.resolve()
      return true
    },
  })
  await using client = fastClient(server)
  const abort = new AbortController()
  const given = client.http.GET('/api/jobs', { signal: abort.signal })
  await asked.promise
  await cleaned()
  const reason = new Error('enough')
  abort.abort(reason)
  await assert.rejects(given, reason)
})

test('a stream of events is let go of when its client is closed, whatever was collected while it came', {
  timeout: 20_000,
}, async () => {
  let streams = 0
  await using server = await startScripted({
    jobs: 'disabled',
    http: ({ path }, response) => {
      if (!path.endsWith('/events')) return undefined
      streams++
      response.once('close', () => streams--)
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write(`id: 1\ndata: ${JSON.stringify(statusEvent(1))}\n\n`)
      return true
    },
  })
  const client = fastClient(server)
  const events = client.job(JOB)[Symbol.asyncIterator]()
  await events.next()
  assert.equal(streams, 1)
  await cleaned()
  const next = events.next()
  client.close()
  await assert.rejects(next)
  await until('the end of the stream', () => streams === 0)
})
