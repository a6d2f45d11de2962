// Workflows with long texts and large defaults, by the hundred: lists of them, and what is derived from them.
import type { AttackOf } from '../kit.ts'
import type { User } from '../user.ts'
import { sized } from './values.ts'

const EMPTY = { nodes: [], edges: [] }

/** Stores so many workflows, some side by side. */
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

/** A list of workflows that have descriptions and settings as long as they may be. */
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

export const lists: readonly AttackOf[] = [
  listing('/api/workflows'),
  listing('/api/workflows/public'),
  listing('/api/workflows?q=nothing'),
]
