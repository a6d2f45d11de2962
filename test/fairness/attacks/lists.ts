// Hundreds of workflows with long texts and large defaults: their lists, and data that is derived from them.
import type { AttackOf } from '../kit.ts'
import type { User } from '../user.ts'
import { sized } from './values.ts'

const EMPTY = { nodes: [], edges: [] }

/** Stores so many workflows, some of them concurrently. */
async function storeMany(attacker: User, count: number, body: string): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < count) {
    const some = Array.from({ length: Math.min(20, count - ids.length) }, () =>
      attacker.expect(201, 'POST', '/api/workflows', body),
    )
    ids.push(...(await Promise.all(some)).map(({ text }) => (JSON.parse(text) as { id: string }).id))
  }
  return ids
}

/** A list of workflows with the longest descriptions and settings. */
const listing =
  (path: string): AttackOf =>
  (share) => {
    const count = sized(1_500, share)
    return {
      name: `${path} of ${count} workflows with long texts`,
      async prepare(attacker) {
        const texts = { description: 'wörd '.repeat(4_000), settings: { text: 'wörd '.repeat(43_000) } }
        const body = JSON.stringify({ name: 'Workflow', graph: EMPTY, access: 'public', ...texts })
        await storeMany(attacker, count, body)
      },
      strike: (attacker) => attacker.expect(200, 'GET', path),
    }
  }

/** Parameters with very many errors. The server decides whether it checks so many names. */
const wrongParams =
  (what: string, params: (share: number) => string): AttackOf =>
  (share) => {
    const stream = { name: 'in', stream: true }
    const graph = { nodes: [{ id: 'in', type: 'input.Integer', data: stream }], edges: [] }
    const body = `{"params":${params(share)}}`
    let id = ''
    return {
      name: `a run with ${(body.length / 1e6).toFixed(1)} MB of ${what}`,
      async prepare(attacker) {
        id = await attacker.store(graph)
      },
      async strike(attacker) {
        const { status, text } = await attacker.send('POST', `/api/workflows/${id}/run`, body)
        if (status !== 422 && status !== 400) throw new Error(`answered ${status}: ${text.slice(0, 300)}`)
      },
    }
  }

/** Settings that are refused for their length. */
const longSettings: AttackOf = (share) => {
  const list = `[${'{},'.repeat(Math.max(90_000, sized(5_200_000, share)))}{}]`
  const body = `{"name":"Workflow","graph":{"nodes":[],"edges":[]},"settings":{"list":${list}}}`
  return {
    name: `a workflow with settings of ${(list.length / 1e6).toFixed(1)} MB`,
    strike: (attacker) => attacker.expect(400, 'POST', '/api/workflows', body),
  }
}

const unknownNames = (share: number) => {
  const members = Array.from({ length: sized(100_000, share) }, (_, at) => `"k${at}":1`)
  return `{${members.join(',')}}`
}

/** Data that is derived from workflows with very large defaults of inputs. */
const deriving =
  (what: string, full: number, read: (attacker: User, ids: readonly string[]) => Promise<unknown>): AttackOf =>
  (share) => {
    const value = `[${'{},'.repeat(sized(5_100_000, share))}{}]`
    const node = `{"id":"in","type":"input.Any","data":{"name":"in","value":${value}}}`
    const count = Math.ceil(full * share)
    let ids: readonly string[] = []
    return {
      name: `${count} ${what} with defaults of ${(value.length / 1e6).toFixed(1)} MB`,
      async prepare(attacker) {
        const body = `{"name":"Workflow","graph":{"nodes":[${node}],"edges":[]}}`
        const stored: string[] = []
        while (stored.length < count) stored.push(...(await storeMany(attacker, 1, body)))
        ids = stored
      },
      strike: (attacker) => read(attacker, ids),
    }
  }

/** A workflow with very many inputs, and its interface. */
const manyInputs: AttackOf = (share) => {
  const count = sized(100_000, share)
  let id = ''
  return {
    name: `a workflow with ${count} inputs`,
    async prepare(attacker) {
      const input = (at: number) => ({ id: `n${at}`, type: 'input.Any', data: { name: `i${at}`, value: 1 } })
      id = await attacker.store({ nodes: Array.from({ length: count }, (_, at) => input(at)), edges: [] })
    },
    async strike(attacker) {
      await attacker.expect(200, 'GET', `/api/workflows/${id}`)
      await attacker.expect(200, 'GET', `/api/workflows/${id}/interface?version=1`)
    },
  }
}

export const lists: readonly AttackOf[] = [
  listing('/api/workflows'),
  listing('/api/workflows/public'),
  listing('/api/workflows?q=nothing'),
  longSettings,
  deriving('workflow', 1, (attacker, [id]) => attacker.expect(200, 'GET', `/api/workflows/${id}`)),
  deriving('interface', 1, (attacker, [id]) => attacker.expect(200, 'GET', `/api/workflows/${id}/interface?version=1`)),
  deriving('interfaces at once', 14, (attacker, ids) =>
    attacker.expect(200, 'POST', '/api/sdk/v1/workflow-interfaces', JSON.stringify({ ids })),
  ),
  manyInputs,
  wrongParams('unknown names', unknownNames),
  wrongParams('wrong values of a stream', (share) => `{"in":[${'"",'.repeat(sized(5_000_000, share))}""]}`),
]
