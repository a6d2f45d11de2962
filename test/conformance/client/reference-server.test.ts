// The doors of the reference server: frames, paths and multipart bodies, read strictly.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { describe, test } from 'node:test'
import WebSocket from 'ws'
import { decodeFrame } from '../../../src/conformance/client/frame-codec.ts'
import { parseFormParts } from '../../../src/conformance/client/multipart-parser.ts'
import { routeRequest } from '../../../src/conformance/client/routes.ts'
import type { ClientDriver } from '../../../src/conformance/client/scenario-runner.ts'
import { play } from './play.ts'

/** Opens a socket of the scenario and sends this. */
function sending(data: string | Buffer): ClientDriver {
  return async ({ url, token, signal }) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/ws?api_key=${token}`)
    socket.on('error', () => {})
    await once(socket, 'open')
    socket.send(data)
    await once(signal, 'abort')
    return 'done'
  }
}

/** Opens a socket, says nothing, and ends when it has heard both kinds of ping twice. */
const listening: ClientDriver = async ({ url, token, signal }) => {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws?api_key=${token}`)
  const heard = { frame: 0, protocol: 0 }
  const { promise: enough, resolve } = Promise.withResolvers<void>()
  const hear = (what: keyof typeof heard) => {
    heard[what] += 1
    if (heard.frame >= 2 && heard.protocol >= 2) resolve()
  }
  socket.on('error', () => {})
  socket.on('ping', () => hear('protocol'))
  socket.on('message', (data, binary) => {
    if (decodeFrame(data as Buffer, binary)?.type === 'ping') hear('frame')
  })
  await Promise.race([enough, once(signal, 'abort')])
  socket.terminate()
  return signal.aborted ? 'heard too little' : 'heard enough'
}

/** Asks for this and no more. */
function asking(method: string, path: string, body?: unknown): ClientDriver {
  return async ({ url, token }) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) })
    return `it said ${answer.status}`
  }
}

/** Posts this, once or again and again as long as it is taken. */
function posting(path: string, piece: string | Buffer, endless = false): ClientDriver {
  return async ({ url, token }) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const sent = request(`${url}${path}`, { method: 'POST', headers })
    const over = new Promise((resolve) => sent.on('close', resolve))
    sent.on('error', () => {})
    sent.on('response', (answer) => answer.resume())
    const more = () => {
      while (!sent.destroyed && sent.write(piece));
    }
    if (endless) more()
    if (endless) sent.on('drain', more)
    else sent.end(piece)
    await over
    return 'done'
  }
}

const DEEP = `${'['.repeat(20_000)}${']'.repeat(20_000)}`

const SUBMISSION = {
  client_request_id: 'one',
  idempotency_key: 'one',
  workflow_id: 'wf_greeting',
  workflow_etag: 'etag-1-of-wf_greeting',
  interface_version: 1,
  inputs: {},
}

describe('the reference server', () => {
  test('keeps its sockets alive in every scenario, at the pace of the run', async () => {
    for (const id of ['restart', 'odd-identifiers', 'half-open'] as const) {
      const { transcript } = await play(id, listening, 10_000)
      assert.ok(
        transcript.some(({ what }) => what.endsWith('ended: heard enough')),
        id,
      )
    }
  })

  test('does not judge who never runs anything, and has no jobs where it says so', async () => {
    const idle = await play('run-without-key-once', asking('GET', '/api/sdk/v1/capabilities'), 10_000)
    assert.deepEqual(
      [idle.verdict, idle.reason],
      ['open', 'the client did not reach this step: POST /api/workflows/wf_greeting/run'],
    )
    const wrong = await play('run-without-key-once', asking('POST', '/api/sdk/v1/jobs', SUBMISSION), 10_000)
    assert.equal(wrong.verdict, 'fail')
    assert.match(wrong.reason ?? '', /submit_job was called though the profile jobs is unavailable/)
    const said = wrong.transcript.filter(({ direction }) => direction === 'to_client').map(({ what }) => what)
    assert.deepEqual(said, ['404'])
  })

  test('fails a client whose frames are nothing, and stands them all', async () => {
    for (const [data, reason] of [
      ['{"command":"set_mode"}', /does not match its schema: \/ .*data/],
      ['{"command":"submit_job","request_id":"1","data":7}', /does not match its schema: \/data/],
      ['{"command":"get_capabilities","request_id":"1","data":{},"more":1}', /additional/],
      ['{"command":"toString","request_id":"1"}', /there is no command "toString"/],
      ['{"command":["x"]}', /there is no command/],
      ['{}', /neither a command nor a type/],
      ['[1]', /unreadable/],
      [`{"command":"submit_job","request_id":"1","data":${DEEP}}`, /unreadable/],
      [Buffer.from([0xc1, 0xff]), /unreadable/],
    ] as const) {
      const { verdict, reason: given } = await play('restart', sending(data), 20_000)
      assert.equal(verdict, 'fail', String(data))
      assert.match(given ?? '', reason)
    }
  })

  test('stands a body that is nested too deep, and one that never ends', async () => {
    const deep = await play('run-without-key-once', posting('/api/sdk/v1/preflight', DEEP), 20_000)
    assert.ok(deep.transcript.some(({ content }) => /bytes of a value that is nested too deep/.test(String(content))))
    const endless = await play('restart', posting('/api/sdk/v1/preflight', Buffer.alloc(1024 * 1024), true), 60_000)
    assert.deepEqual([endless.verdict, endless.reason], ['fail', 'the client sent more than 67108864 bytes'])
  })

  test('finds parameters in paths however they are encoded, and nothing in others', () => {
    const id = 'a/b c%2F?x#ü'
    const path = `/api/sdk/v1/jobs/${encodeURIComponent(id)}`
    assert.deepEqual(routeRequest('GET', path, undefined), { name: 'get_job_snapshot', data: { job_id: id } })
    assert.equal(routeRequest('POST', `${path}/cancel`, undefined)?.name, 'request_job_cancellation')
    for (const other of ['/api/sdk/v1/jobs/a/b', '/api/sdk/v1/jobs/%zz', '/', '/api/sdk/v1']) {
      assert.equal(routeRequest('GET', other, undefined), null, other)
    }
    assert.equal(routeRequest('DELETE', path, undefined), null)
  })

  test('takes multipart bodies apart, and says what is wrong with others', () => {
    const type = 'multipart/form-data; boundary=x'
    const body = (text: string) => parseFormParts(type, Buffer.from(text))
    const head = 'Content-Disposition: form-data; name="file"; filename='
    const one = (filename: string) => body(`--x\r\n${head}${filename}\r\nContent-Type: a/b\r\n\r\n\r\n--y\r\n--x--\r\n`)
    for (const [filename, name] of [
      ['"plain.txt"', 'plain.txt'],
      ['"a \\"b\\"; c"', 'a "b"; c'],
      ['"a %22b%22; c"', 'a "b"; c'],
      ['"a "b"; c"', null],
    ] as const) {
      const parts = one(filename)
      assert.ok(typeof parts !== 'string')
      assert.deepEqual([parts[0]?.name, parts[0]?.filename, parts[0]?.content_type], ['file', name, 'a/b'], filename)
      assert.equal(parts[0]?.bytes.toString(), '\r\n--y')
    }
    assert.match(String(body('x')), /begin with its boundary/)
    assert.match(String(body('--x\r\nA: b\r\n\r\nc')), /without its last boundary/)
    assert.match(String(parseFormParts('text/plain', Buffer.from(''))), /content type/)
  })
})
