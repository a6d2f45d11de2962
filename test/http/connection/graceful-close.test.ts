// The end of a listener: pending answers are sent, and idle connections are closed.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { closeListener } from '../../../src/http/connection/graceful-close.ts'
import { createListener } from '../../../src/http/connection/listener.ts'
import { createLog } from '../../../src/log.ts'
import { until } from '../../helpers/server.ts'
import { peer } from '../peer.ts'

test('an idle connection is closed at once, and a pending answer is sent', async () => {
  const listener = createListener(createLog('silent'))
  const asked = Promise.withResolvers<ServerResponse>()
  listener.on('request', (_request, response) => asked.resolve(response))
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const at = { url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}` }
  // Like a client of fetch that leaves a stream of events, and connects anew for its next request.
  using silent = await peer(at)
  using asking = await peer(at, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const response = await asked.promise
  const closed = closeListener(listener)
  await until('the end of whoever is silent', silent.closed)
  assert.equal(asking.closed(), false)
  response.end('the last answer')
  await closed
  await until('its end', asking.closed)
  assert.match(asking.text(), /^HTTP\/1\.1 200 .*the last answer/s)
})
