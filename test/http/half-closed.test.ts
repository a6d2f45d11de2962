// Clients that half-close the connection after their request, as netcat does.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { asking, startGateway } from '../completions/kit.ts'
import { startServer, until } from '../helpers/server.ts'
import { gated, plain, startGated, submit } from '../jobs/kit.ts'
import { type Peer, peer } from './peer.ts'

function requestText(line: string, body = ''): string {
  const length = body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]
  return [line, 'Host: localhost', ...length, '', body].join('\r\n')
}

/** The answer to a client that sends this and half-closes. */
async function said(server: { readonly url: string }, text: string): Promise<string> {
  using one: Peer = await peer(server, text)
  one.socket.end()
  await until('the end of the connection', one.closed)
  return one.text()
}

describe('a client that half-closes after its request', () => {
  test('gets its answer, even a slow one, and those of earlier requests', async () => {
    await using server = await startServer()
    const health = requestText('GET /health HTTP/1.1')
    assert.match(await said(server, 'GET /health HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 .*"healthy"/s)
    assert.match(await said(server, health), /^HTTP\/1\.1 200 .*"healthy"/s)
    assert.equal((await said(server, health.repeat(3))).match(/HTTP\/1\.1 200 /g)?.length, 3)
    const run = requestText('POST /api/workflows/greeting/run HTTP/1.1', JSON.stringify({ params: { name: 'Ada' } }))
    assert.match(await said(server, run), /^HTTP\/1\.1 200 .*"status":"completed"/s)
    assert.match(await said(server, requestText('GET /v1/models HTTP/1.1')), /^HTTP\/1\.1 200 .*"object":"list"/s)
    assert.match(await said(server, requestText('GET /docs HTTP/1.1')), /^HTTP\/1\.1 200 .*<html/s)
  })

  test('gets the events of a job to their end', async () => {
    await using server = await startGated()
    const ended = submit(server, { graph: plain })
    await ended.settled()
    const events = await said(server, requestText(`GET /api/jobs/${ended.row.id}/events HTTP/1.1`))
    assert.match(events, /^HTTP\/1\.1 200 .*event: job_terminal/s)
  })

  test('and then disconnects ends its stream of events', async () => {
    await using server = await startGated()
    const running = submit(server, { graph: gated })
    await running.accepted()
    const { socket, text } = await peer(server, requestText(`GET /api/jobs/${running.row.id}/events HTTP/1.1`))
    await until('an event', () => text().includes('job_status'))
    assert.equal(server.context.runs.events.followers, 1)
    socket.destroy()
    await until('the end of the follower', () => server.context.runs.events.followers === 0)
  })

  test('cancels its call of a model', async () => {
    await using gateway = await startGateway({ answer: () => ({ hangs: 'head' }) })
    const { server, upstream } = gateway
    const text = requestText('POST /v1/chat/completions HTTP/1.1', asking())
    using one = await peer(server, text)
    await until('the call', () => upstream.posts.length === 1)
    one.socket.end()
    await upstream.posts[0]!.gone
    await until('the end of the connection', one.closed)
  })
})
