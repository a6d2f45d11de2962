// Running commands hold their values: while those of a connection have too many bytes, nothing more is read from it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startServer, until } from '../../helpers/server.ts'
import { connect } from '../../helpers/socket.ts'

/** Bytes of a small frame. */
const FRAME = 150_000
const COUNT = 20

describe('running commands', () => {
  test('have a limit for each connection, and all are executed', async () => {
    await using server = await startServer()
    const { promise: gone, resolve: goOn } = Promise.withResolvers<void>()
    let begun = 0
    const { preflight } = server.context.runs
    const report = preflight.report.bind(preflight)
    Object.assign(preflight, {
      report: async (...asked: Parameters<typeof report>) => {
        begun++
        await gone
        return report(...asked)
      },
    })
    await using client = await connect(server, { mode: 'text' })
    const send = (request_id: string, name: string) =>
      client.send({ command: 'preflight_workflow', request_id, data: { workflow_id: 'greeting', inputs: { name } } })
    for (let at = 0; at < COUNT; at++) send(`r${at}`, 'x'.repeat(FRAME))
    await until('the first ones', () => begun === 2)
    await using other = await connect(server, { mode: 'text' })
    other.send({ command: 'ping' })
    await other.next({ type: 'pong' })
    assert.equal(begun, 2, 'nothing more is read')
    goOn()
    await until('all', () => client.frames.filter(({ type }) => type === 'rpc_response').length === COUNT)
    assert.equal(begun, COUNT)
    client.send({ command: 'ping' })
    await client.next({ type: 'pong' })
  })
})
