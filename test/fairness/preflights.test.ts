// Preflights of large graphs delay no other user. Each graph has many models, many
// inputs, very many values, or an agent whose tools have much data.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { GraphNode } from '../../src/engine/compile/graph.ts'
import { type FairServer, holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of processor time: a slice, and garbage. */
const LONGEST_HOLD = 75
/** At full size, the most nodes of a graph. */
const NODES = 100_000 * share(0.5)
/** As many models as a server has that forwards to other providers. */
const MODELS = 1_000

async function preflightHoldsLittle(
  server: FairServer,
  level: string,
  node: (at: number) => Pick<GraphNode, 'type' | 'data'>,
): Promise<void> {
  const nodes = Array.from({ length: NODES }, (_, at): GraphNode => ({ id: `n${at}`, ...node(at) }))
  const workflow_id = await server.attacker.store({ nodes, edges: [] })
  const body = JSON.stringify({ workflow_id, level })
  const name = `a preflight of ${NODES} nodes at the level ${level}`
  const strike = () => server.attacker.expect(200, 'POST', '/api/sdk/v1/preflight', body)
  await holdsLittle(server, { name, strike }, LONGEST_HOLD)
}

test('no preflight of very many nodes holds the event loop', async () => {
  const data = Array.from({ length: MODELS }, (_, at) => ({ id: `model${at}`, object: 'model' }))
  const upstream = createServer((_, response) => {
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ object: 'list', data }))
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { port } = upstream.address() as AddressInfo
  try {
    await using server = await startFair({ SVC_MODEL_SERVERS: `many=http://127.0.0.1:${port}/v1` })
    await preflightHoldsLittle(server, 'availability', (at) => {
      return { type: 'chat.Complete', data: { model: `many/m${at}`, prompt: 'a' } }
    })
    await preflightHoldsLittle(server, 'static', (at) => ({ type: 'input.String', data: { name: `n${at}` } }))
  } finally {
    upstream.close()
    upstream.closeAllConnections()
  }
})

/** The most tools of an agent. */
const TOOLS = 128
/** The data of each tool, nearly at its limit. */
const KEYS = 9_000

test('no preflight of an agent with large tools holds the event loop', async () => {
  await using server = await startFair()
  const data = Object.fromEntries(Array.from({ length: KEYS }, (_, at) => [`k${at}`, 1]))
  const tools = Array.from({ length: TOOLS }, (_, at) => ({ node_type: 'text.Template', name: `tool${at}`, data }))
  const agent = { id: 'agent', type: 'agent.Run', data: { model: 'builtin/echo', prompt: 'a', tools } }
  const workflow_id = await server.attacker.store({ nodes: [agent], edges: [] })
  const body = JSON.stringify({ workflow_id, level: 'availability' })
  const strike = () => server.attacker.expect(200, 'POST', '/api/sdk/v1/preflight', body)
  await holdsLittle(server, { name: `a preflight of ${TOOLS} tools with ${KEYS} values each`, strike }, LONGEST_HOLD)
})

test('no preflight of nodes that have very many values holds the event loop', async () => {
  await using server = await startFair()
  const data = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`k${at}`, 1]))
  let rounds = 0
  const strike = async () => {
    // The result of a preflight is cached by its graph, so each round has another graph.
    const round = rounds++
    const node = (at: number): GraphNode => ({ id: `n${round}_${at}`, type: 'unknown.Type', data })
    const nodes = Array.from({ length: 80 }, (_, at) => node(at))
    const workflow_id = await server.attacker.store({ nodes, edges: [] })
    await server.attacker.expect(200, 'POST', '/api/sdk/v1/preflight', JSON.stringify({ workflow_id }))
  }
  await holdsLittle(server, { name: 'a preflight of 80 nodes with 5,000 values each', strike }, LONGEST_HOLD)
})
