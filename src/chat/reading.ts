// Reads messages of a thread as records of the contract, in steps: one message may be long.
import type { Message } from '../../generated/types.ts'
import { listMessagesAfter } from '../db/messages.ts'
import type { Store } from '../db/store.ts'
import type { ThreadTable } from '../db/tables/chat.ts'
import type { Steps } from '../shared/time-slices.ts'
import { toMessageRecord } from './contract-records.ts'

/** At most `limit` messages after the sequence `after`, the oldest first. */
export function* readMessagesSteps(
  store: Pick<Store, 'read'>,
  { id, key, last_sequence }: Pick<ThreadTable, 'id' | 'key' | 'last_sequence'>,
  after: number,
  limit: number,
): Steps<Message[]> {
  const items: Message[] = []
  for (let last = after; last < last_sequence && items.length < limit; last = items.at(-1)!.sequence) {
    const most = Math.min(limit - items.length, last_sequence - last)
    const page = store.read((tx) => listMessagesAfter(tx, key, last, most))
    // The messages were deleted meanwhile.
    if (page.length === 0) break
    for (const row of page) {
      yield
      items.push(toMessageRecord(id, row))
    }
  }
  return items
}
