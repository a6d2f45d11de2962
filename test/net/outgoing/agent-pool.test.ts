// Connections are kept for the requests of one user alone: what one leaves of a request on a connection is never the beginning of another's.
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { OwnerAgentPool } from '../../../src/net/outgoing/agent-pool.ts'
import { AllowList } from '../../../src/net/outgoing/allow-list.ts'
import { createGuardedAgent } from '../../../src/net/outgoing/guarded-agent.ts'
import { until } from '../../engine/kit.ts'
import { httpServer, localHttp, rawServer, request, textOf } from '../servers.ts'

const EMPTY = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

describe('a connection that is kept', () => {
  test('is for the user who had it alone', async () => {
    await using server = await httpServer((_, response) => void response.end('ok'))
    await using http = localHttp()
    for (let round = 0; round < 6; round++)
      for (const owner of ['one', 'other']) await http.forOwner(owner).send(request(server.url))
    const before = server.connections
    assert.ok(before >= 2 && before <= 4, `${before}`)
    assert.equal(textOf(await http.forOwner('third').send(request(server.url))), 'ok')
    assert.equal(server.connections, before + 1)
  })

  test('brings no request of another user behind what its server has not read', async () => {
    const heads: string[] = []
    const unread = new WeakMap<Socket, string>()
    // It answers when it has a head, and takes what follows for the next one.
    await using server = await rawServer((socket, text) => {
      const [rest, ...complete] = `${unread.get(socket) ?? ''}${text}`.split('\r\n\r\n').reverse()
      unread.set(socket, rest!)
      heads.push(...complete.reverse())
      socket.write(EMPTY.repeat(complete.length))
    })
    await using http = localHttp()
    const left = { method: 'PUT', body: new TextEncoder().encode('POST /mine HTTP/1.1\r\nX-Next: ') }
    for (let round = 0; round < 3; round++) {
      await http.forOwner('one').send(request(server.url, left))
      for (let n = 0; n < 2; n++)
        await http.forOwner('other').send(request(server.url, { headers: { 'X-Secret': 'token' } }))
    }
    const others = heads.filter((head) => head.includes('token'))
    assert.equal(others.length, 6)
    for (const head of others) assert.match(head, /^GET \/ HTTP/)
  })
})

describe('agents', () => {
  const make = (end: AbortSignal) => createGuardedAgent(new AllowList([]), async () => [], end)

  test('are let go of when nobody has used one for a while, and not before', async () => {
    await using agents = new OwnerAgentPool(make, 20)
    const [first, second] = [agents.take('one'), agents.take('one')]
    assert.equal(await first.agent, await second.agent)
    first.release()
    second.release()
    const again = agents.take('one')
    assert.equal(again.agent, first.agent)
    await new Promise((resolve) => setTimeout(resolve, 60))
    assert.equal(agents.size, 1)
    again.release()
    await until(() => agents.size === 0, 'its end')
    assert.equal((await first.agent).destroyed, true)
  })

  test('that could not be made are made anew for whoever asks next', async () => {
    let tries = 0
    const failing = async (end: AbortSignal) => {
      if (tries++ === 0) throw new Error('no files left')
      return make(end)
    }
    await using agents = new OwnerAgentPool(failing)
    const first = agents.take('one')
    await assert.rejects(first.agent, /no files left/)
    first.release()
    assert.ok(await agents.take('one').agent)
  })
})
