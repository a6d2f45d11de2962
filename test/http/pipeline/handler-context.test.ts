// The signal of a request whose client has gone also aborts if it is created late.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import type { Response } from 'express'
import { HandlerContext } from '../../../src/http/pipeline/handler-context.ts'
import { startServer, type TestServer } from '../../helpers/server.ts'

let service: TestServer
before(async () => {
  service = await startServer()
})
after(() => service[Symbol.asyncDispose]())

/** A request for `listener`. The client disconnects on demand. */
async function meet(listener: RequestListener): Promise<{ leave(): void } & AsyncDisposable> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
  client.on('error', () => {}).end()
  return {
    leave: () => client.destroy(),
    async [Symbol.asyncDispose]() {
      client.destroy()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const contextOf = (response: unknown) => {
  const express = Object.assign(response as Response, { locals: { request_id: 'req' } })
  return new HandlerContext(service.context, express)
}

test('a signal that is created after the client has gone is aborted', async () => {
  const { promise, resolve } = Promise.withResolvers<Response>()
  await using met = await meet((_request, response) => resolve(response as unknown as Response))
  const response = await promise
  const [early, late] = [contextOf(response), contextOf(response)]
  assert.equal(early.signal.aborted, false)
  met.leave()
  await once(response, 'close')
  assert.deepEqual([early.signal.aborted, late.signal.aborted], [true, true])
})

test('a signal that is created after the complete response is not aborted', async () => {
  const { promise, resolve } = Promise.withResolvers<Response>()
  await using _met = await meet((_request, response) => {
    response.end('done')
    response.once('close', () => resolve(response as unknown as Response))
  })
  assert.equal(contextOf(await promise).signal.aborted, false)
})
