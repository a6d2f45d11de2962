// The mark of a process that stopped in order, so that its jobs did not cause an interruption. Without the mark, the end of a process counts as one.
import { readMetaValue, writeMetaValue } from '../../db/database-metadata.ts'
import type { Store, Tx } from '../../db/store.ts'
import type { AdditionalWrite } from '../commit/commit-range.ts'

const STOPPED_AT_KEY = 'stopped_at'

/** Clears the mark of the last process, and returns whether it was there. `writeLater` is called where the database cannot be written now. */
export async function takeStopMark(store: Store, writeLater: (extra: AdditionalWrite) => void): Promise<boolean> {
  const isMarked = store.read((tx) => readMetaValue(tx, STOPPED_AT_KEY)) !== null
  if (isMarked)
    await store.write(clearStopMark).catch((error) => {
      // A server starts even where the disk is full.
      if (store.fault === null) throw error
      writeLater(clearStopMark)
    })
  return isMarked
}

function clearStopMark(tx: Tx): void {
  writeMetaValue(tx, STOPPED_AT_KEY, null)
}

/** Marks an orderly stop. A store that cannot be written was logged already. The stop then counts as an interruption. */
export async function writeStopMark(store: Store, timestamp: string): Promise<void> {
  await store.write((tx) => writeMetaValue(tx, STOPPED_AT_KEY, timestamp)).catch(() => {})
}
