// Lists threads of an owner. A search in titles runs in steps, since an owner may have very many threads.

import type { OwnerScope } from '../../db/owner-scope.ts'
import type { Store } from '../../db/store.ts'
import type { ThreadTable } from '../../db/tables/chat.ts'
import { foldText } from '../../db/text-folding.ts'
import { listThreadsAfter, type ThreadCursor } from '../../db/threads.ts'
import type { Steps } from '../../shared/time-slices.ts'

/** Threads per step. A title takes up to 50 µs. */
const THREADS_PER_STEP = 32

export interface ThreadFilter {
  /** A part of the title, in any case. */
  readonly q?: string | null | undefined
  readonly after: ThreadCursor | null
  readonly limit: number
}

/** Threads of the owner, sorted by their newest message, the latest first. */
export function* listThreadsSteps(
  store: Pick<Store, 'read'>,
  owner: OwnerScope,
  { q, after, limit }: ThreadFilter,
): Steps<ThreadTable[]> {
  if (!q) return store.read((tx) => listThreadsAfter(tx, owner, after, limit))
  const part = foldText(q)
  const found: ThreadTable[] = []
  for (let behind = after; ; yield) {
    const rows = store.read((tx) => listThreadsAfter(tx, owner, behind, THREADS_PER_STEP))
    for (const row of rows) {
      if (foldText(row.title ?? '').includes(part)) found.push(row)
      if (found.length === limit) return found
    }
    if (rows.length === 0) return found
    behind = rows.at(-1)!
  }
}
