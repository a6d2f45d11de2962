// Both suites read any key of a frame: a record may have a member that is called `__proto__`.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import { WebSocketServer } from 'ws'
import { decodeFrame } from '../../src/conformance/client/frame-codec.ts'
import { openSuiteSocket } from '../../src/conformance/server/suite-socket.ts'
import { TargetServer } from '../../src/conformance/server/target-server.ts'

const TEXT = '{"type":"greeting","data":{"b":[{"__proto__":2}],"__proto__":{"a":1}}}'
const FRAME = encode(JSON.parse(TEXT))

test('the suite for clients reads it', () => {
  assert.equal(JSON.stringify(decodeFrame(Buffer.from(FRAME), true)), TEXT)
})

test('the suite for servers reads it', async () => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  try {
    server.on('connection', (socket) => socket.send(FRAME))
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    using target = new TargetServer({ url, token: null, timeout_ms: 10_000, stop: new AbortController().signal })
    const opened = await openSuiteSocket(target)
    assert.ok('socket' in opened)
    using socket = opened.socket
    await socket.waitForFrame('the greeting', ({ type }) => type === 'greeting')
    assert.deepEqual(
      socket.frames.map(({ body, fault }) => [JSON.stringify(body), fault]),
      [[TEXT, null]],
    )
  } finally {
    server.close()
  }
})
