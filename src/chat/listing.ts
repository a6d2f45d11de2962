// Which threads a page shows. Those with a text in their titles are sought in steps: there may be very many threads to look through.
import { folded } from '../db/folding.ts'
import type { ThreadTable } from '../db/schema.ts'
import type { Scope } from '../db/scope.ts'
import type { Store } from '../db/store.ts'
import { type ThreadCursor, threadsBehind } from '../db/threads.ts'
import type { Steps } from '../time-slices.ts'

/** Threads that one step looks at. A title takes up to 50 µs. */
const LOOKED_AT = 32

export interface ThreadFilter {
  /** Part of the title, in any case. */
  readonly q?: string | null | undefined
  readonly after: ThreadCursor | null
  readonly limit: number
}

/** Threads of the owner, the one with the newest message first. */
export function* threadSteps(
  store: Pick<Store, 'read'>,
  owner: Scope,
  { q, after, limit }: ThreadFilter,
): Steps<ThreadTable[]> {
  if (!q) return store.read((tx) => threadsBehind(tx, owner, after, limit))
  const part = folded(q)
  const found: ThreadTable[] = []
  for (let behind = after; ; yield) {
    const rows = store.read((tx) => threadsBehind(tx, owner, behind, LOOKED_AT))
    for (const row of rows) {
      if (folded(row.title ?? '').includes(part)) found.push(row)
      if (found.length === limit) return found
    }
    if (rows.length === 0) return found
    behind = rows.at(-1)!
  }
}
